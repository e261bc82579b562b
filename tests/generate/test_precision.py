"""Which precision a decoder reads weights in, and what was measured with each."""

from __future__ import annotations

import sys
from subprocess import run

import pytest

from engine.errors import ConfigError
from engine.generate import precision as module
from engine.generate.decode_losses import MOST_CHECKPOINTS, DecodeLoss, DecodeLosses, built_in_key
from engine.generate.options import PRECISIONS
from engine.generate.precision import decode_precision, weight_count
from engine.shipped import starter_place
from tests.devices.opened import *  # noqa: F403  (fixtures)
from tests.generate.small import open_small


def test_a_large_model_is_read_in_8_bits_and_a_small_one_in_16(cpu, monkeypatch):
    with open_small(cpu) as model:
        assert 0 < weight_count(model) < 1_000_000 and decode_precision("auto", model) == "float16"
        for weights, precision in ((49_999_999, "float16"), (50_000_000, "int8")):
            monkeypatch.setattr(module, "weight_count", lambda _, weights=weights: weights)
            assert decode_precision("auto", model) == precision


def test_a_precision_that_was_chosen_is_taken(cpu):
    with open_small(cpu) as model:
        assert [decode_precision(name, model) for name in PRECISIONS] == list(PRECISIONS)
        with pytest.raises(ConfigError, match="precision is 'int4'"):
            decode_precision("int4", model)


def test_losses_are_kept_by_checkpoint_and_precision(tmp_path):
    losses = DecodeLosses(tmp_path / "new folder")
    assert losses.of("a") == {}
    whole, small = DecodeLoss(1.5, 900, "/shop"), DecodeLoss(1.51, 900, "/shop")
    losses.keep("a", "float32", whole)
    losses.keep("a", "int8", small)
    losses.keep("b", "int8", small)
    again = DecodeLosses(tmp_path / "new folder")
    assert again.of("a") == {"float32": whole, "int8": small} and again.of("b") == {"int8": small}


@pytest.mark.parametrize("other", [DecodeLoss(2.0, 900, "/bank"), DecodeLoss(2.0, 901, "/shop")])
def test_losses_on_other_text_are_not_mixed(tmp_path, other):
    losses = DecodeLosses(tmp_path)
    losses.keep("a", "float32", DecodeLoss(1.5, 900, "/shop"))
    losses.keep("a", "int8", other)
    assert losses.of("a") == {"int8": other}


def test_the_file_does_not_grow_without_end(tmp_path):
    losses = DecodeLosses(tmp_path)
    for number in range(MOST_CHECKPOINTS + 2):
        losses.keep(str(number), "int8", DecodeLoss(1.0, 1, "/shop"))
    assert losses.of("1") == {} != losses.of("2")


@pytest.mark.parametrize("content", ["", "[]", '{"a": 3}', '{"a": {"int8": {"loss": 1}}}', '{"a": {"int8": 7}}', "{{"])
def test_a_damaged_file_is_as_if_nothing_had_been_measured(tmp_path, content):
    losses = DecodeLosses(tmp_path)
    losses.path.write_text(content)
    assert losses.of("a") == {}
    losses.keep("a", "int8", DecodeLoss(1.0, 1, "/shop"))
    assert set(losses.of("a")) == {"int8"}


def test_the_built_in_model_has_a_key_of_its_weights(tmp_path):
    (tmp_path / "model.safetensors").write_bytes(bytes(100_000))
    assert built_in_key(starter_place()) == built_in_key(starter_place()) != built_in_key(tmp_path)


def test_what_the_window_and_the_command_line_read_loads_no_numpy():
    modules = ("engine.generate.options", "engine.generate.decode_losses", "engine.shipped", "engine.option_info")
    code = f"import sys, {', '.join(modules)}; sys.exit('numpy' in sys.modules)"
    assert run([sys.executable, "-c", code], check=False).returncode == 0
