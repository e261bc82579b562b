"""Hybrids of our own: any order of Mamba-1, Mamba-2 and attention over a window trains from scratch and decodes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engine.checkpoints.formats.gguf_export import write_gguf
from engine.checkpoints.formats.hugging_face import read_folder, write_folder
from engine.errors import CheckpointError, ConfigError
from engine.generate.decoder import Decoder
from engine.model.architectures.own import OwnConfig
from engine.model.model import create_model
from engine.model.step import AdamW

SMALL = {
    "vocab_size": 50, "hidden_size": 16, "mamba2_head_dim": 8, "mamba2_state_size": 12, "state_size": 4,
    "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 8, "window": 5,
}  # fmt: skip
ORDERS = (
    ("mamba",),
    ("mamba2",),
    ("attention",),
    ("mamba2", "attention", "mamba"),
    ("mamba", "mamba", "mamba2", "attention"),
)
IDS = np.random.default_rng(0).integers(0, 50, (2, 71))


@pytest.fixture
def open_model(device):
    """A function that makes a model; all are closed after the test."""
    opened = []

    def open_model(**options):
        opened.append(create_model(OwnConfig(**SMALL | {"num_hidden_layers": 3} | options), seed=1, device=device))
        return opened[-1]

    yield open_model
    for model in opened:
        model.close()


@pytest.mark.parametrize("order", ORDERS, ids="-".join)
def test_it_learns_and_decodes_what_it_computes(open_model, order):
    model = open_model(layer_types=order, num_hidden_layers=max(3, len(order)), intermediate_size=24 * (len(order) > 1))
    step = model.training_step("full", 2, 70)
    losses = [step.run(IDS, AdamW(learning_rate=1e-2), number)().loss for number in range(1, 9)]
    step.close()
    assert losses[-1] < losses[0] - 0.3
    decoder, expected = Decoder(model), model.logits(IDS[:1, :70])[0]
    try:
        assert np.allclose(decoder.read(IDS[0, :40]), expected[39], atol=5e-3)
        assert np.allclose(decoder.step(int(IDS[0, 40])), expected[40], atol=5e-3)
        assert np.allclose(decoder.read_each(IDS[0, 41:70]), expected[41:], atol=5e-3)
    finally:
        decoder.close()


@pytest.mark.parametrize("mlp", [0, 20])
def test_dead_channels_are_a_share_of_those_that_were_counted(open_model, mlp):
    """A column of zeros in the last product lets nothing back; before a norm, a closed gate lets nothing out."""
    model = open_model(layer_types=("mamba", "mamba2", "attention"), intermediate_size=mlp)
    prefix = "backbone.layers"
    cut = {f"{prefix}.0.mixer.out_proj.weight": np.s_[:, :3], f"{prefix}.1.mixer.in_proj.weight": np.s_[:2]}
    cut |= {name: np.s_[:, :4] for name in model.parameters if name.endswith("down_proj.weight")}
    for name, part in cut.items():
        weights = model.parameters[name]
        weights[part] = 0
        model.parameters[name] = weights
    step = model.training_step("full", 2, 70)
    layers = step.run(IDS, AdamW(learning_rate=0.0), 1, insight=True)().layers
    step.close()
    inner = 2 * SMALL["hidden_size"]
    expected = [3 / inner, 2 / inner, 4 / mlp if mlp else 0]
    assert [insight.dead_share for insight in layers] == pytest.approx(expected)


@pytest.mark.parametrize("window", [1, 5, 0])
def test_a_token_sees_the_window_and_no_further(open_model, window):
    """One layer of attention: a token further back than the window changes nothing."""
    model = open_model(layer_types=("attention",), num_hidden_layers=1, window=window)
    ids = IDS[:1, :40].copy()
    before = model.logits(ids)[0]
    ids[0, 10] = (ids[0, 10] + 1) % 50
    changed = np.flatnonzero(np.abs(model.logits(ids)[0] - before).max(axis=1) > 1e-7)
    assert changed.tolist() == list(range(10, 10 + window if window else 40))


def test_a_folder_gives_the_same_configuration_back(tmp_path, open_model):
    model = open_model(layer_types=("mamba2", "attention"), window=9)
    write_folder(tmp_path / "own", model.config, model.parameters)
    imported = read_folder(tmp_path / "own")
    assert replace(imported.config, described={}) == model.config
    for name, array in model.parameters.items():
        assert np.array_equal(imported.parameters[name], array), name


def test_llama_cpp_does_not_compute_it(tmp_path, open_model):
    model = open_model()
    with pytest.raises(CheckpointError, match="does not compute"):
        write_gguf(tmp_path / "own.gguf", model.config, model.parameters, None, "f32")


WRONG = ({"layer_types": ("mamba3",)}, {"layer_types": ()}, {"head_dim": 7}, {"mamba2_head_dim": 5}, {"window": -1})


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_what_makes_no_model_is_refused(wrong):
    with pytest.raises(ConfigError):
        OwnConfig(**SMALL | wrong)
