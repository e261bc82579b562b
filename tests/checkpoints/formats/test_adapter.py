"""Only what was trained: LoRA and vocabulary as PEFT has them, WSLA as rows."""

from __future__ import annotations

import json

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import load_file

from engine.checkpoints.formats.adapter import FILES, write_adapter
from engine.checkpoints.store.delta import Delta, DeltaPart, apply_delta, make_delta
from engine.checkpoints.store.manifest import BaseReference
from engine.errors import CheckpointError

BASE = BaseReference("0" * 32, "12" * 32)


def read(folder):
    return json.loads((folder / "adapter_config.json").read_text()), load_file(folder / "adapter_model.safetensors")


def test_low_rank_pairs_as_peft_has_them(tmp_path, config, parameters, export_check):
    delta = make_delta("lora", config, parameters, export_check.small_adapters(config), 2.0)
    assert write_adapter(tmp_path / "a", delta, config, BASE, "the base", "# card\n") == "peft"
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == sorted(FILES)
    described, tensors = read(tmp_path / "a")
    assert (described["r"], described["lora_alpha"]) == (4, 8)  # PEFT's scale is alpha / r
    assert described["target_modules"] == ["in_proj", "out_proj"] and described["peft_type"] == "LORA"
    assert len(tensors) == 4 * config.num_hidden_layers
    name = "base_model.model.backbone.layers.2.mixer.out_proj"
    weight = "backbone.layers.2.mixer.out_proj.weight"
    merged = dict(apply_delta(parameters.items(), delta.parts, delta.tensors))[weight]
    product = tensors[f"{name}.lora_B.weight"] @ tensors[f"{name}.lora_A.weight"]
    assert np.allclose(parameters[weight] + described["lora_alpha"] / described["r"] * product, merged, atol=1e-6)
    with safe_open(tmp_path / "a" / "adapter_model.safetensors", "numpy") as file:
        assert file.metadata()["base_weights_sha256"] == BASE.sha256


def test_ranks_and_scales_of_their_own(tmp_path, config):
    def pair(layer, rank, scale):
        name = f"backbone.layers.{layer}.mixer.in_proj.weight"
        part = DeltaPart("low_rank", name, down=f"{layer}d", up=f"{layer}u", scale=scale)
        return part, {f"{layer}d": np.ones((rank, 3), np.float32), f"{layer}u": np.ones((5, rank), np.float32)}

    (one, tensors), (two, more) = pair(0, 2, 0.25), pair(1, 4, 1.0)
    write_adapter(tmp_path / "a", Delta((one, two), tensors | more), config, BASE, "b")
    described, _ = read(tmp_path / "a")
    module = "backbone.layers.1.mixer.in_proj"
    assert (described["r"], described["lora_alpha"]) == (2, 0.5)
    assert described["rank_pattern"] == {module: 4} and described["alpha_pattern"] == {module: 4.0}


def test_embedding_rows_beside_the_pairs(tmp_path, config, parameters, export_check):
    ids = np.array([7, 3, 3, 40])
    delta = make_delta("vocabulary", config, parameters, export_check.small_adapters(config), 1.0, ids)
    assert write_adapter(tmp_path / "a", delta, config, BASE, "b") == "peft"
    described, tensors = read(tmp_path / "a")
    assert described["trainable_token_indices"] == {"embeddings": [3, 7, 40]}
    rows = tensors["base_model.model.backbone.embeddings.token_adapter.trainable_tokens_delta"]
    assert np.array_equal(rows, parameters["backbone.embeddings.weight"][[3, 7, 40]])


def test_rows_of_wsla_say_where_they_belong(tmp_path, config, parameters):
    delta = make_delta("wsla", config, parameters)
    assert write_adapter(tmp_path / "a", delta, config, BASE, "b") == "rows"
    described, tensors = read(tmp_path / "a")
    assert described["format"] == "codecoil-rows" and "peft_type" not in described
    parts = tuple(DeltaPart.from_json(part) for part in described["parts"])
    other = {name: array * 0 for name, array in parameters.items()}
    merged = dict(apply_delta(other.items(), parts, tensors))
    name, r = "backbone.layers.0.mixer.x_proj.weight", config.time_step_rank
    assert np.array_equal(merged[name][r:], parameters[name][r:]) and not merged[name][:r].any()


def test_nothing_to_export(tmp_path, config):
    with pytest.raises(CheckpointError, match="changes nothing"):
        write_adapter(tmp_path / "a", Delta(()), config, BASE, "b")
