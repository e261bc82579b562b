"""The decoder against the full forward pass: by steps, in pieces of any size, from any state, on both devices."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine.errors import InputError
from engine.generate.decoder import EACH_CHUNK, Cancelled, Decoder
from engine.graph.tensor import Kind
from tests.model.tiny import ODD, TINY, batch, open_model

LIMIT = 1e-4  # largest difference of a score
ONE_TAP = {**TINY, "num_hidden_layers": 1, "conv_kernel": 1, "use_conv_bias": False}
ROUND = {"hidden_size": 64, "num_hidden_layers": 2, "vocab_size": 67}
LONG = 150  # tokens: past two of the scan's states and one of the decoder's chunks


@contextmanager
def open_decoder(device, config=TINY, seed=0, **options) -> Iterator[Decoder]:
    with open_model(device, config, seed) as model:
        decoder = Decoder(model, **options)
        try:
            yield decoder
        finally:
            decoder.close()


def prompt(decoder: Decoder, length: int, seed: int = 0) -> np.ndarray:
    return batch(1, length, decoder.model.config.vocab_size, seed)[0]


def full(decoder: Decoder, ids: np.ndarray) -> np.ndarray:
    """The scores after each of ids, by the forward pass of training."""
    return decoder.model.logits(ids[None])[0]


def assert_same(found: np.ndarray, expected: np.ndarray) -> None:
    assert found.shape == expected.shape and found.dtype == np.float32
    assert np.abs(found - expected).max() <= LIMIT


@pytest.mark.parametrize("config", [TINY, ODD, ONE_TAP], ids=["tiny", "odd", "one tap"])
def test_step_by_step_gives_the_scores_of_the_full_forward(device, config):
    with open_decoder(device, config) as decoder:
        ids = prompt(decoder, 20)
        assert_same(np.stack([decoder.step(int(token)) for token in ids]), full(decoder, ids))
        assert decoder.position == len(ids)


@pytest.mark.parametrize("precision", ["float32", "float16", "int8"])
@pytest.mark.parametrize("software", [True, False])
def test_kernels_that_are_made_one_give_the_scores_of_the_cpu(cpu, webgpu, monkeypatch, software, precision):
    """Step by step and by twos, with rows as wide as all formats want them."""
    monkeypatch.setattr(webgpu, "traits", replace(webgpu.traits, software=software))
    found = []
    for device in (cpu, webgpu):
        with open_decoder(device, ROUND, precision=precision) as decoder:
            ids = prompt(decoder, 12)
            scores = [decoder.step(int(token)) for token in ids]
            found.append(np.stack([*scores, *(decoder.read(ids[i : i + 2]) for i in (0, 3))]))
            kernels = {call.kernel for call in decoder._executable("read", 1, "logits").plan.program.calls}
    assert "scan_gated" in kernels and "rmsnorm" not in kernels
    assert_same(*found)


@pytest.mark.parametrize("config", [TINY, ODD], ids=["tiny", "odd"])
def test_reading_each_gives_the_scores_after_every_token(device, config):
    with open_decoder(device, config) as decoder:
        ids = prompt(decoder, 24)
        expected = full(decoder, ids)
        decoder.read(ids[:5])
        assert_same(decoder.read_each(ids[5:]), expected[5:])
        assert decoder.position == len(ids)
        decoder.reset()
        assert_same(decoder.read_each(ids[:1]), expected[:1])
        assert_same(decoder.step(int(ids[1])), expected[1])


def test_the_scores_after_each_token_of_a_long_text(device):
    with open_decoder(device, TINY) as decoder:
        ids = prompt(decoder, EACH_CHUNK + 13)
        assert_same(decoder.read_each(ids), full(decoder, ids))
        assert decoder.position == len(ids)


@pytest.mark.parametrize("config", [TINY, ODD], ids=["tiny", "odd"])
def test_prompts_of_any_length_are_read_whole(device, config):
    with open_decoder(device, config) as decoder:
        ids = prompt(decoder, LONG)
        expected = full(decoder, ids)
        for length in (1, 7, 8, 9, 33, 64, 65, LONG):
            decoder.reset()
            assert_same(decoder.read(ids[:length]), expected[length - 1])
            assert decoder.position == length


shapes = st.fixed_dictionaries(
    {
        "hidden_size": st.integers(1, 40),
        "num_hidden_layers": st.integers(1, 3),
        "vocab_size": st.integers(2, 70),
        "state_size": st.integers(1, 20),
        "conv_kernel": st.integers(1, 6),
        "expand": st.integers(1, 3),
        "use_bias": st.booleans(),
        "use_conv_bias": st.booleans(),
        "tie_word_embeddings": st.booleans(),
    }
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(shapes, st.integers(1, 80), st.lists(st.integers(1, 70), min_size=1, max_size=4), st.integers(0, 99))
def test_any_model_in_any_pieces_with_any_chunk(cpu, config, chunk, pieces, seed):
    with open_decoder(cpu, config, seed, chunk=chunk) as decoder:
        ids = prompt(decoder, sum(pieces), seed)
        expected = full(decoder, ids)
        for piece in np.split(ids, np.cumsum(pieces)[:-1]):
            scores = decoder.read(piece)
            assert_same(scores, expected[decoder.position - 1])


def test_progress_is_told_and_cancelling_stops_between_chunks(device):
    with open_decoder(device, chunk=32) as decoder:
        ids, heard, asked = prompt(decoder, 75), [], []
        decoder.read(ids, progress=lambda done, total: heard.append((done, total)))
        assert heard == [(32, 75), (64, 75), (72, 75), (75, 75)]
        decoder.reset()

        def second_time() -> bool:
            asked.append(decoder.position)
            return len(asked) == 3

        with pytest.raises(Cancelled):
            decoder.read(ids, cancelled=second_time)
        assert asked == [0, 32, 64] and decoder.position == 64
        assert_same(decoder.read(ids[64:]), full(decoder, ids)[-1])  # nothing is lost


def test_best_tokens_come_in_order_with_the_sum_of_all(device):
    with open_decoder(device) as decoder:
        ids = prompt(decoder, 11)
        expected = full(decoder, ids)[-1]
        for k in (1, 5, 64, 1000):
            decoder.reset()
            best, scores, log_sum = decoder.read_top(ids, k)
            order = np.argsort(-expected, kind="stable")[:k]
            assert best.tolist() == order.tolist() and best.dtype == np.int32
            assert_same(scores, expected[order])
            assert abs(log_sum - np.logaddexp.reduce(expected.astype(np.float64))) < LIMIT


def test_greedy_is_the_best_token_again_and_again(device):
    with open_decoder(device) as decoder:
        first, expected = 3, []
        token = first
        for _ in range(19):
            token = int(np.argmax(decoder.step(token)))
            expected.append(token)
        state = decoder.snapshot()
        decoder.reset()
        found = decoder.greedy(19, first)
        assert found.tolist() == expected and decoder.position == 19
        for found, expected in zip(decoder.snapshot().recurrent, state.recurrent, strict=True):
            assert_same(found, expected)
        assert decoder.greedy(0, first).size == 0


def test_a_model_in_training_is_decoded_as_it_is_now(device):
    with open_decoder(device) as decoder:
        ids = prompt(decoder, 9)
        before = decoder.read(ids)
        for name, array in decoder.model.parameters.items():
            decoder.model.parameters[name] = array * np.float32(1.1)
        decoder.refresh()
        decoder.reset()
        after = decoder.read(ids)
        assert np.abs(after - before).max() > 100 * LIMIT
        assert_same(after, full(decoder, ids)[-1])


def test_adapters_take_part_once_the_decoder_knows_of_them(device):
    with open_decoder(device) as decoder:
        ids = prompt(decoder, 40)
        before = decoder.read(ids)
        random = np.random.default_rng(0)
        for name, array in decoder.model.attach_adapters(rank=3).items():
            decoder.model.adapters[name] = 0.3 * random.standard_normal(array.shape, np.float32)
        decoder.refresh()
        decoder.reset()
        after = decoder.read(ids)
        assert np.abs(after - before).max() > 100 * LIMIT
        assert_same(after, full(decoder, ids)[-1])
        assert_same(decoder.step(int(ids[0])), full(decoder, np.append(ids, ids[0]))[-1])


def test_memory_stays_the_same_however_long_the_text(fresh_device):
    with open_decoder(fresh_device) as decoder:
        decoder.greedy(9, 1)
        decoder.read(prompt(decoder, LONG))
        before = fresh_device.ledger.snapshot()
        assert before.by_kind[Kind.DECODE] >= decoder.snapshot().nbytes
        decoder.greedy(300, 1)
        decoder.read(prompt(decoder, LONG))
        assert fresh_device.ledger.snapshot() == before
    assert not fresh_device.ledger.snapshot().by_kind


@pytest.mark.parametrize("ids", [[], [[1, 2]], [1.5], [-1], [TINY["vocab_size"]]], ids=str)
def test_ids_that_cannot_be_read_are_refused_and_change_nothing(cpu, ids):
    with open_decoder(cpu) as decoder:
        with pytest.raises(InputError):
            decoder.read(ids)
        assert decoder.position == 0


@pytest.mark.parametrize("options", [{"chunk": 0}, {"chunk": 1.5}, {"precision": "int3"}], ids=str)
def test_options_that_cannot_be_are_refused(cpu, options):
    with open_model(cpu) as model:
        held = cpu.ledger.total
        with pytest.raises(InputError):
            Decoder(model, **options)
        assert cpu.ledger.total == held


@pytest.mark.parametrize("k", [0, -1, 2.5])
def test_a_number_of_best_tokens_that_cannot_be_is_refused(cpu, k):
    with open_decoder(cpu) as decoder, pytest.raises(InputError):
        decoder.read_top([1], k)
