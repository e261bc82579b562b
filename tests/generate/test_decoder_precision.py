"""Weights in 16 and 8 bits: the decoder computes exactly the model whose large matrices were rounded."""

from __future__ import annotations

import numpy as np
import pytest

from engine.graph.tensor import Kind
from tests.generate.test_decoder import LIMIT, assert_same, full, open_decoder, prompt
from tests.model.tiny import ODD, open_model

UNTIED = {"hidden_size": 40, "num_hidden_layers": 2, "vocab_size": 53, "tie_word_embeddings": False}


def rounded(weight: np.ndarray, precision: str) -> np.ndarray:
    if precision == "float16":
        return weight.astype(np.float16).astype(np.float32)
    rows, columns = weight.shape
    blocks = np.pad(weight, ((0, 0), (0, -columns % 32))).reshape(rows, -1, 32)
    scale = np.abs(blocks).max(axis=2, keepdims=True) / np.float32(127)
    return (np.rint(blocks / np.where(scale > 0, scale, 1)) * scale).reshape(rows, -1)[:, :columns]


def round_weights(model, precision: str) -> None:
    for name, array in model.parameters.items():
        if name.endswith(("in_proj.weight", "out_proj.weight", "lm_head.weight")):
            model.parameters[name] = rounded(array, precision)


@pytest.mark.parametrize("config", [UNTIED, ODD], ids=["untied", "odd"])
@pytest.mark.parametrize("precision", ["float16", "int8"])
def test_every_way_of_reading_sees_the_rounded_weights(device, config, precision):
    with open_decoder(device, config, precision=precision) as decoder, open_model(device, config) as model:
        round_weights(model, precision)
        ids = prompt(decoder, 45)
        expected = model.logits(ids[None])[0]
        assert np.abs(expected - full(decoder, ids)).max() > 3 * LIMIT  # the rounding can be seen
        assert_same(decoder.read(ids), expected[-1])
        decoder.reset()
        assert_same(np.stack([decoder.step(int(token)) for token in ids[:12]]), expected[:12])
        assert decoder.greedy(1, int(ids[12])).tolist() == [int(expected[12].argmax())]
        assert_same(decoder.read(ids[13:]), expected[-1])


def test_refreshing_rounds_the_weights_of_now_and_merges_adapters(cpu):
    with open_decoder(cpu, UNTIED, precision="int8") as decoder, open_model(cpu, UNTIED) as merged:
        ids, random = prompt(decoder, 9), np.random.default_rng(0)
        pairs = decoder.model.attach_adapters(rank=3, scale=0.5)
        for name, array in pairs.items():
            pairs[name] = 0.3 * random.standard_normal(array.shape, np.float32)
        for name in merged.parameters:
            stem = name.removesuffix(".weight")
            if f"{stem}.lora_A.weight" in pairs:
                change = 0.5 * pairs[f"{stem}.lora_B.weight"] @ pairs[f"{stem}.lora_A.weight"]
                merged.parameters[name] = merged.parameters[name] + change
        decoder.refresh()
        round_weights(merged, "int8")
        assert_same(decoder.read(ids), merged.logits(ids[None])[0, -1])
        assert_same(decoder.read(ids), merged.logits(np.tile(ids, 2)[None])[0, -1])


def test_copies_are_counted_as_decoding_and_given_back(fresh_device):
    held = {}
    for precision in ("float32", "float16", "int8"):
        with open_decoder(fresh_device, UNTIED, precision=precision):
            held[precision] = fresh_device.ledger.snapshot().by_kind[Kind.DECODE]
        assert Kind.DECODE not in fresh_device.ledger.snapshot().by_kind
    assert held["float32"] < held["int8"] < held["float16"]
