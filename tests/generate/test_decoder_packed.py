"""Decoding a model that is kept packed: with its own matrices, and as the float32 model of these weights."""

from __future__ import annotations

from contextlib import closing

import numpy as np
import pytest

from engine.generate.decoder import Decoder
from engine.generate.precision import decode_precision
from engine.graph.tensor import Kind
from engine.model import layout
from engine.model.model import Model
from tests.generate.test_decoder import prompt
from tests.generate.test_decoder_precision import rounded
from tests.model.test_packed_base import CONFIGS, DENSE, NARROW, UNTIED, open_both, randomise
from tests.model.tiny import ODD

LIMIT = 1e-3  # of a score: the last bit of a key may round to another float16 in the cache


def assert_same(found: np.ndarray, expected: np.ndarray) -> None:
    assert found.shape == expected.shape and np.abs(found - expected).max() <= LIMIT


def check(decoder: Decoder, wide: Model) -> None:
    """Prompts read in chunks, passes and single tokens have the scores that a decoder of `wide` gives."""
    ids = prompt(decoder, 45)
    with closing(Decoder(wide)) as other:
        assert_same(decoder.read(ids), other.read(ids))
        for each in (decoder, other):
            each.reset()
        expected = np.stack([other.step(int(token)) for token in ids[:12]])
        assert_same(np.stack([decoder.step(int(token)) for token in ids[:12]]), expected)
        assert decoder.greedy(9, int(ids[12])).tolist() == other.greedy(9, int(ids[12])).tolist()
        assert_same(decoder.read_each(ids[13:20]), other.read_each(ids[13:20]))


@CONFIGS
@NARROW
@pytest.mark.parametrize("with_pairs", [False, True], ids=["alone", "with pairs"])
def test_it_decodes_as_the_float32_model_of_its_weights(device, config, precision, with_pairs):
    with open_both(device, config, precision) as (packed, wide):
        if with_pairs:
            randomise(packed, wide)
        with closing(Decoder(packed, precision=precision)) as decoder:
            check(decoder, wide)


@pytest.mark.parametrize("precision", ["float16", "int8"])
@pytest.mark.parametrize("config", [DENSE, UNTIED, ODD], ids=["tied", "untied", "mamba"])
def test_no_matrix_is_copied(fresh_device, config, precision):
    """What decoding holds is its state, as in float32, at the model's own precision and at every wider one."""
    with open_both(fresh_device, config, precision) as (packed, _):
        held = set()
        for wanted in {"float32", "float16", precision}:
            decoder = Decoder(packed, precision=wanted)
            held.add(fresh_device.ledger.snapshot().by_kind[Kind.DECODE])
            decoder.close()
        assert len(held) == 1
        narrower = Decoder(packed, precision="int8")
        copied = fresh_device.ledger.snapshot().by_kind[Kind.DECODE] - held.pop()
        assert (copied > 0) == (precision == "float16")
        narrower.close()


def test_fewer_bits_than_the_model_has_are_a_copy_with_the_pairs_merged(cpu):
    with open_both(cpu, DENSE, "float16") as (packed, wide):
        randomise(packed, wide)
        with closing(Decoder(packed, precision="int8")) as decoder, closing(Decoder(wide, precision="int8")) as other:
            ids = prompt(decoder, 20)
            assert_same(decoder.read(ids), other.read(ids))


def test_only_what_the_model_keeps_wide_is_copied(cpu):
    """In mode vocabulary the embedding stays float32, and is the head as well: that alone has an 8-bit copy."""
    with open_both(cpu, DENSE, "int8", "vocabulary") as (packed, wide):
        randomise(packed, wide)
        with closing(Decoder(packed, precision="int8")) as decoder, closing(Decoder(wide)) as other:
            assert list(decoder._weights._copies) == [wide.config.embedding_name]
            ids = prompt(decoder, 20)
            normed = np.linalg.lstsq(wide.parameters[wide.config.embedding_name], other.read(ids), rcond=None)[0]
            head = rounded(wide.parameters[wide.config.embedding_name], "int8")
            assert_same(decoder.read(ids), head @ normed)


def test_a_head_in_blocks(device, monkeypatch):
    monkeypatch.setattr(layout, "WIDENED_BYTES", 17 * 36 * 4)
    with open_both(device, DENSE, "int8") as (packed, wide), closing(Decoder(packed, precision="int8")) as decoder:
        check(decoder, wide)


def test_a_packed_model_is_read_as_it_is_kept_unless_fewer_bits_are_wanted(cpu):
    with open_both(cpu, DENSE, "float16") as (packed, wide):
        assert [decode_precision(one, packed) for one in ("auto", "float32", "float16", "int8")] == [
            "float16",
            "float16",
            "float16",
            "int8",
        ]
        assert decode_precision("float32", wide) == "float32"
