"""What run.json says of each mode."""

from __future__ import annotations

import numpy as np

from engine.handoff.trained_parts import trained_parts
from engine.model.architectures.reading import config_from
from engine.model.config import ModelConfig
from engine.train.options import TrainingOptions
from tests.handoff.test_whole_way import LLAMA

MAMBA = ModelConfig(hidden_size=16, num_hidden_layers=2, vocab_size=320)


def parts_of(config, mode, token_ids=None):
    return trained_parts(config, TrainingOptions(mode=mode, rank=2), token_ids)


def test_pairs_that_peft_refuses_are_added_to_the_weight():
    pairs = parts_of(MAMBA, "lora").parts
    assert {(part["parameter"].split(".")[-2], part["peft"]) for part in pairs} == {
        ("in_proj", True),
        ("out_proj", False),
    }
    assert all(part["peft"] for part in parts_of(config_from(LLAMA), "lora").parts)


def test_decay_spares_what_it_spares_here():
    found = parts_of(MAMBA, "full")
    assert {part["kind"] for part in found.parts} == {"whole"} and set(found.shapes) == set(MAMBA.specs)
    assert set(found.without_decay) == {name for name, spec in MAMBA.specs.items() if not spec.decays}
    assert "backbone.norm_f.weight" in found.without_decay


def test_rows_are_named_with_where_they_are():
    rows = parts_of(MAMBA, "wsla")
    name = "backbone.layers.0.mixer.x_proj.weight"
    first, last = MAMBA.specs[name].trained_by["wsla"]
    assert rows.parts[0] == {"kind": "rows", "parameter": name, "tensor": name, "first": first, "last": last}
    assert rows.shapes[name] == (last - first, MAMBA.intermediate_size) and not rows.without_decay
    tokens = parts_of(MAMBA, "vocabulary", np.array([3, 5], np.int32))
    assert tokens.shapes["backbone.embeddings.weight.rows"] == (2, 16)
