"""Tokens chosen on the device, eight a submit: the text, and the state, that one token at a time gives."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest

import engine
from engine.devices.webgpu.launch import AdapterTraits
from engine.generate.completer import Completer, CompletionRequest
from engine.generate.decoder import Decoder
from engine.generate.drawing import is_drawn_by_device
from engine.generate.healing import TypedTokens
from engine.generate.options import Sampling, Stops
from engine.generate.sampling import Candidates, choose
from engine.generate.writing import Writer
from tests.generate.conftest import FIXTURES
from tests.generate.small import SOURCE, open_small, tokenizer
from tests.generate.test_decoder import open_decoder
from tests.model.tiny import TINY

SAMPLINGS = {
    "all": Sampling(1.0),
    "filters": Sampling(0.8, top_k=40, top_p=0.9, min_p=0.02, seed=3),
    "penalty": Sampling(0.9, repetition_penalty=1.4, repetition_window=8, seed=4),
    "greedy with a penalty": Sampling(0.0, repetition_penalty=1.4),
    "often undecided": Sampling(3.0, top_p=0.97, seed=5),
    "a long top-k": Sampling(1.0, top_k=65, top_p=0.99, seed=6),
    "a short window": Sampling(1.0, repetition_penalty=1.4, repetition_window=3),
}


def one_at_a_time(decoder: Decoder, sampling: Sampling, prompt: list[int], count: int) -> list[int]:
    ids = list(prompt)
    for drawn in range(count):
        ids.append(choose(Candidates(decoder.step(ids[-1])), sampling, ids, 1 + drawn))
    return ids[len(prompt) :]


@pytest.mark.parametrize("name", SAMPLINGS)
def test_a_run_of_eight_writes_what_single_tokens_give(decoder, monkeypatch, name):
    sampling = SAMPLINGS[name]
    decoder.model.device.latency_bound or monkeypatch.setattr(type(decoder), "run", 8)
    prompt = [5, 6, 7]
    decoder.read(prompt[:-1])
    start = decoder.snapshot()
    expected = one_at_a_time(decoder, sampling, prompt, 21)
    decoder.restore(start)
    writer = Writer(decoder, sampling, TypedTokens(tokenizer()))
    recent, found = list(prompt), []
    writer._ready.clear()
    for drawn in range(21):
        found.append(writer._quick(recent[-1], recent, 1 + drawn))
        recent.append(found[-1])
    assert found == expected
    drawn_here = [key for key in decoder._executables if key[0] == "drawn"]
    assert bool(drawn_here) == is_drawn_by_device(sampling)


@pytest.mark.parametrize("config", [TINY, {**TINY, "num_hidden_layers": 1}], ids=["two layers", "one"])
def test_a_run_ends_before_what_the_device_cannot_decide(device, monkeypatch, config):
    """A recurrent state is then where it was before that token."""
    with open_decoder(device, {**config, "vocab_size": 500}) as decoder:
        monkeypatch.setattr(type(decoder), "run", 8)
        kept, keep = [], decoder.keep
        monkeypatch.setattr(decoder, "keep", lambda count, of: kept.append(count) or keep(count, of))
        for temperature in (0.2, 0.3, 0.4, 0.6):
            sampling = Sampling(temperature, top_p=0.9, seed=7)
            decoder.reset()
            expected = one_at_a_time(decoder, sampling, [5], 40)
            decoder.reset()
            writer, recent = Writer(decoder, sampling, TypedTokens(tokenizer())), [5]
            for drawn in range(40):
                writer._alone_until = 0
                recent.append(writer._quick(recent[-1], recent, 1 + drawn))
            assert recent[1:] == expected
        assert 0 in kept and max(kept) > 0


@pytest.mark.parametrize("sampling", [Sampling(), Sampling(0.8, seed=2), Sampling(0.2, top_p=0.8, seed=2)], ids=str)
def test_the_ordinary_path_takes_runs_where_waiting_costs_more_than_computing(webgpu, monkeypatch, sampling):
    """As on a GPU: the same text in fewer submits, however early it ends."""
    request = CompletionRequest(
        SOURCE[:200], "", "shop.py", sampling=sampling, stops=Stops(max_tokens=21), memory=False
    )
    with open_small(webgpu) as model:
        texts, submits = [], []
        for is_software in (True, False):
            monkeypatch.setattr(webgpu, "traits", AdapterTraits(software=is_software))
            assert webgpu.latency_bound != is_software
            completer = Completer(model, tokenizer())
            texts.append(completer.complete(request).text)  # with all programs
            before = webgpu.submits
            texts.append(completer.complete(request).text)
            submits.append(webgpu.submits - before)
            completer.close()
        assert len(set(texts)) == 1
        assert submits[1] <= submits[0] - 14


def test_the_cpu_takes_one_at_a_time(cpu):
    with open_small(cpu) as model:
        decoder = Decoder(model)
        assert decoder.run == 1
        decoder.close()


def test_a_run_ends_where_the_cache_ends(webgpu, monkeypatch):
    monkeypatch.setattr(webgpu, "traits", AdapterTraits(software=False))
    model = engine.load_model(FIXTURES / "dense/qwen2", webgpu)
    decoder = Decoder(model, context=16)
    decoder.read(np.arange(3, 14))
    assert decoder.run == 5
    writer = Writer(decoder, Sampling(1.0), TypedTokens(tokenizer()))
    recent = [14]
    for drawn in islice(range(5), 5):
        recent.append(writer._quick(recent[-1], recent, drawn))
    assert decoder.position == 16
    decoder.close()
    model.close()
