"""Snapshots of what was read, and decoders beside each other."""

from __future__ import annotations

import numpy as np
import pytest

from engine.errors import InputError
from engine.generate.decoder import Decoder
from tests.generate.test_decoder import assert_same, full, open_decoder, prompt
from tests.model.tiny import ODD, TINY, open_model


@pytest.mark.parametrize("config", [TINY, ODD], ids=["tiny", "odd"])
def test_a_snapshot_is_as_good_as_reading_again(device, config):
    with open_decoder(device, config) as decoder:
        ids = prompt(decoder, 60)
        expected = full(decoder, ids)
        decoder.read(ids[:40])
        kept = decoder.snapshot()
        again = decoder.read(ids[40:])
        decoder.restore(kept)
        assert decoder.position == kept.position == 40
        assert np.array_equal(decoder.read(ids[40:]), again)
        assert_same(again, expected[-1])


def test_a_snapshot_neither_changes_nor_can_be_changed(device):
    with open_decoder(device) as decoder:
        decoder.read(prompt(decoder, 5))
        kept = decoder.snapshot()
        state = kept.recurrent[1].copy()
        decoder.read(prompt(decoder, 5))
        assert np.array_equal(kept.recurrent[1], state)
        assert kept.nbytes == sum(array.nbytes for array in kept.recurrent)
        with pytest.raises(ValueError):
            kept.recurrent[1][0] = 1


def test_a_snapshot_serves_another_decoder_of_the_same_model_and_no_other_model(cpu):
    with open_decoder(cpu) as decoder:
        ids = prompt(decoder, 12)
        decoder.read(ids[:7])
        other = Decoder(decoder.model)
        other.restore(decoder.snapshot())
        assert np.array_equal(other.read(ids[7:]), decoder.read(ids[7:]))
        other.close()
        with open_decoder(cpu, ODD) as stranger, pytest.raises(InputError):
            stranger.restore(decoder.snapshot())


def test_two_decoders_of_one_model_do_not_meet(device):
    with open_model(device) as model:
        one, other = Decoder(model), Decoder(model)
        ids = prompt(one, 10)
        one.read(ids)
        alone = other.read(ids[:4])
        assert_same(alone, full(other, ids)[3])
        assert_same(one.step(int(ids[0])), full(one, np.append(ids, ids[0]))[-1])
        one.close()
        other.close()
