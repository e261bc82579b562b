"""Replayed programs: the same bits however many threads help, and however late they come."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from engine.devices.cpu import replay
from engine.errors import InputError
from engine.generate.decoder import Decoder
from engine.graph.tensor import KernelCall, Tensor
from tests.model.tiny import open_model

WIDE = {"hidden_size": 96, "num_hidden_layers": 3, "vocab_size": 611}


def decoded(cpu, threads: int, tokens: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores and state after some tokens, by so many threads."""
    cpu.crew = replay.Crew(threads)
    with open_model(cpu, WIDE) as model:
        decoder = Decoder(model)
        for token in range(tokens):
            scores = decoder.step(token)
        state = decoder.snapshot().recurrent[1]
        decoder.close()
    cpu.crew.close()
    return scores, state


def test_helpers_change_no_bit(cpu, monkeypatch):
    monkeypatch.setattr(replay, "ALONE", 0)
    alone = decoded(cpu, 1, 150)
    for threads in (2, 4):  # more than there are cores: some are always late
        for found, expected in zip(decoded(cpu, threads, 150), alone, strict=True):
            assert np.array_equal(found, expected)


def product(seed: int = 0) -> tuple[list[KernelCall], dict[Tensor, np.ndarray]]:
    random = np.random.default_rng(seed)
    arrays = {name: random.standard_normal(shape).astype(np.float32) for name, shape in SHAPES.items()}
    tensors = {name: Tensor(name, shape) for name, shape in SHAPES.items()}
    views = (*(tensors[name].view() for name in "abc"), None, None)
    return (
        [KernelCall("matmul_nt", views, {"alpha": 1.0, "accumulate": 1})],
        {tensors[name]: arrays[name] for name in SHAPES},
    )


SHAPES = {"a": (2, 32), "b": (1024, 32), "c": (2, 1024)}


def test_every_task_is_done_once_and_a_helper_of_an_earlier_run_does_nothing():
    calls, arrays = product()
    a, b, c = arrays.values()
    before = c.copy()
    crew = replay.Crew(1)
    run = replay.Replay(calls, lambda view: arrays[view.tensor].ctypes.data, crew)
    for _ in range(3):
        run()
    after = c.copy()
    np.testing.assert_allclose(after, before + 3 * (a @ b.T), rtol=1e-5, atol=1e-4)
    for number in (1, 2, 3):  # accumulates: a task done again would show
        replay.replay(run._table, run._numbers, run._counters, number)
    assert np.array_equal(c, after)


def test_threads_start_when_first_needed_and_end_with_the_device(cpu):
    before = set(threading.enumerate())

    def helpers() -> int:
        return sum(thread.name.startswith("codecoil-replay") for thread in set(threading.enumerate()) - before)

    calls, arrays = product()
    run = replay.Replay(calls, lambda view: arrays[view.tensor].ctypes.data, cpu.crew)
    run._alone = False
    run()
    assert helpers() == min(cpu.threads, replay.MOST_THREADS) - 1
    cpu.crew.close()
    assert helpers() == 0


def test_more_rows_than_are_replayed_are_refused_where_there_is_no_other_way(cpu):
    with pytest.raises(InputError, match="at most 8"):
        cpu.kernel("selective_scan_tokens")
