"""Mamba-2 and its hybrids against transformers: logits, loss, every gradient by name, ten AdamW steps, decoding."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

import engine
from engine.generate.decoder import Decoder
from engine.model.architectures.reading import config_from
from engine.model.step import AdamW
from tests.model.stored import LIMITS, assert_close, assert_every_gradient, assert_ten_steps

ROOT = Path(__file__).parents[1] / "fixtures" / "mamba2"
CONFIGURATIONS = sorted(folder.name for folder in ROOT.iterdir())
CASES = ["b1.l1", "b1.l63", "b2.l64", "b1.l65", "b1.l129"]
ONLY_RECURRENT = ("mamba2", "mamba2_groups", "mamba2_wide_state")
CACHE_LIMIT = 2e-3  # keys and values are kept in float16

GRANITE = {
    "model_type": "granitemoehybrid", "num_attention_heads": 12, "num_key_value_heads": 4, "vocab_size": 100352,
    "tie_word_embeddings": True, "num_local_experts": 0, "mamba_n_heads": 48, "mamba_d_state": 128,
    "position_embedding_type": "nope",
}  # fmt: skip
FALCON = {
    "model_type": "falcon_h1", "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 64, "rope_theta": 1e11,
    "mamba_n_heads": 24,
}  # fmt: skip


def layers(count, attention):
    return ["attention" if layer in attention else "mamba" for layer in range(count)]


REAL = {
    "granite-4.0-h-350m": (340_332_224, 5_505_024, GRANITE | {
        "hidden_size": 768, "num_hidden_layers": 32, "shared_intermediate_size": 2048, "mamba_d_head": 32,
        "layer_types": layers(32, (10, 13, 17, 27)),
    }),
    "granite-4.0-h-1b": (1_461_538_368, 14_155_776, GRANITE | {
        "hidden_size": 1536, "num_hidden_layers": 40, "shared_intermediate_size": 4096, "mamba_d_head": 64,
        "layer_types": layers(40, (5, 15, 25, 35)),
    }),
    "falcon-h1-tiny-coder-90m": (91_131_072, 1_572_864, FALCON | {
        "hidden_size": 512, "num_hidden_layers": 24, "intermediate_size": 768, "vocab_size": 32768,
        "tie_word_embeddings": True, "mamba_d_ssm": 768, "mamba_d_head": 32, "mamba_d_state": 64,
    }),
    "falcon-h1-0.5b": (521_411_104, 9_437_184, FALCON | {
        "hidden_size": 1024, "num_hidden_layers": 36, "intermediate_size": 2048, "vocab_size": 32784,
        "tie_word_embeddings": False, "mamba_d_ssm": 1536, "mamba_d_head": 64, "mamba_d_state": 128,
    }),
    "mamba2-130m": (128_989_632, 24 * 256 * 768, {
        "d_model": 768, "n_layer": 24, "vocab_size": 50277, "ssm_cfg": {"layer": "Mamba2"}, "rms_norm": True,
        "pad_vocab_size_multiple": 16, "tie_embeddings": True,
    }),
}  # fmt: skip


def expected(folder: str) -> dict[str, np.ndarray]:
    return load_file(ROOT / folder / "expected.safetensors")


@pytest.fixture
def load(device):
    """A function that loads a fixture's model; all are closed after the test."""
    opened = []

    def load(name):
        opened.append(engine.load_model(ROOT / name, device))
        return opened[-1]

    yield load
    for model in opened:
        model.close()


@pytest.mark.parametrize("name", REAL)
def test_real_shapes_have_as_many_parameters_as_published(name):
    total, state_rows, keys = REAL[name]
    config = config_from(keys)
    assert config.parameter_count == total
    rows = [(spec.trained_by["wsla"], spec.shape) for spec in config.specs.values() if "wsla" in spec.trained_by]
    assert sum((last - first) * shape[1] for (first, last), shape in rows) == state_rows


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_logits_and_losses(load, device, name):
    stored, limit, model = expected(name), LIMITS[device.name], load(name)
    for case in CASES:
        ids = stored[f"ids.{case}"]
        assert_close(model.logits(ids[:, :-1]), stored[f"logits.{case}"], limit, case)
        assert abs(model.losses(ids).mean() - stored[f"loss.{case}"]) <= limit


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_every_gradient_by_name(load, device, name):
    assert_every_gradient(load(name), device, expected(name), "b1.l129")


@pytest.mark.parametrize("name", ["mamba2", "granite", "falcon"])
def test_ten_steps(load, device, name):
    assert_ten_steps(load(name), device, expected(name))


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_decoding_gives_what_training_computes(load, device, name):
    """Cut anywhere: a prompt in chunks, tokens one by one, several at once, and going back to a snapshot."""
    stored, model = expected(name), load(name)
    ids, logits = stored["ids.b1.l129"][0, :-1], stored["logits.b1.l129"][0]
    limit = LIMITS[device.name] if name in ONLY_RECURRENT else max(LIMITS[device.name], CACHE_LIMIT)
    decoder = Decoder(model)
    try:
        for cut in (1, 8, 9, 63, 64, 65, 128):
            decoder.reset()
            assert_close(decoder.read(ids[:cut]), logits[cut - 1], limit, f"before {cut}")
            assert_close(decoder.read(ids[cut:]), logits[128], limit, f"after {cut}")
        decoder.reset()
        decoder.read(ids[:70])
        kept = decoder.snapshot()
        for place in (70, 71):
            assert_close(decoder.step(int(ids[place])), logits[place], limit)
        assert_close(decoder.read_each(ids[72:80]), logits[72:80], limit)
        decoder.restore(kept)
        assert_close(decoder.read(ids[70:129]), logits[128], limit)
        decoder.restore(kept)
        token, chosen = int(ids[71]), []
        for _ in range(9):  # eight tokens of one submit, and one more
            token = int(np.argmax(decoder.step(token)))
            chosen.append(token)
        decoder.restore(kept)
        assert decoder.greedy(9, int(ids[71])).tolist() == chosen
    finally:
        decoder.close()


@pytest.mark.parametrize("name", ["mamba2_groups", "granite", "falcon"])
def test_state_rows_are_trained_and_no_other_byte_changes(load, name):
    """WSLA: rows [2di, 2di + 2GS) of every in_proj, with the gradients of full training."""
    stored, model = expected(name), load(name)
    ids, before = stored["ids.b1.l129"], dict(model.parameters)
    _, full = model.loss_and_gradients(ids)
    _, gradients = model.loss_and_gradients(ids, "wsla")
    own = {layer: block for layer, _, block in model.config.layers() if hasattr(block, "mamba") or hasattr(block, "n")}
    assert len(gradients) == len(own)
    for layer, block in own.items():
        mixer = getattr(block, "mamba", block)
        (weight,) = (key for key in before if f"layers.{layer}." in key and key.endswith("in_proj.weight"))
        rows = slice(2 * mixer.d, 2 * mixer.d + 2 * mixer.g * mixer.n)
        assert_close(gradients[weight], full[weight][rows], 1e-4, weight)
    step = model.training_step("wsla", batch=1, length=129)
    assert step.run(ids, AdamW(learning_rate=1e-2, weight_decay=0.1), 1)().applied
    step.close()
    after = dict(model.parameters)
    for weight, gradient in gradients.items():
        changed = np.flatnonzero((after[weight] != before[weight]).any(axis=1))
        assert len(changed) == len(gradient)
        assert np.array_equal(changed, np.arange(changed[0], changed[0] + len(gradient)))
    assert {key for key in before if after[key].tobytes() != before[key].tobytes()} == gradients.keys()


@pytest.mark.parametrize("name", ["mamba2_groups", "granite_rotated", "falcon_normed"])
def test_low_rank_pairs_are_on_every_projection(load, name):
    model = load(name)
    before = model.logits(expected(name)["ids.b1.l65"][:, :-1])
    pairs = model.attach_adapters()
    for weight, spec in model.config.specs.items():
        assert (weight.replace(".weight", ".lora_A.weight") in pairs) == spec.adapted
        assert spec.adapted == ((len(spec.shape) == 2 and weight.endswith("_proj.weight")) or "_linear." in weight)
    assert_close(model.logits(expected(name)["ids.b1.l65"][:, :-1]), before, 1e-6)
    loss, gradients = model.loss_and_gradients(expected(name)["ids.b1.l129"], "lora")
    assert np.isfinite(loss)
    assert all(np.abs(gradient).max() > 0 for key, gradient in gradients.items() if "lora_B" in key)


@pytest.mark.parametrize("recompute", [1, 2])
@pytest.mark.parametrize("name", ["mamba2", "granite", "falcon_normed"])
def test_recomputed_layers_have_the_same_gradients(load, name, recompute):
    stored, model = expected(name), load(name)
    ids, optimiser = stored["ids.b1.l129"], AdamW(learning_rate=1e-2)
    weights = []
    for layers_again in (0, recompute):
        model.parameters.update(load_file(ROOT / name / "model.safetensors"))
        step = model.training_step("full", batch=1, length=129, recompute=layers_again)
        assert step.run(ids, optimiser, 1)().applied
        step.close()
        weights.append(dict(model.parameters))
    assert all(np.array_equal(weights[0][key], weights[1][key]) for key in weights[0])


@pytest.mark.parametrize("precision", ["float16", "int8"])
@pytest.mark.parametrize("name", ["mamba2", "granite", "falcon"])
def test_it_is_kept_and_decoded_in_fewer_bits(device, name, precision):
    """A packed base gives nearly the same, its decoder exactly what it computes itself, and pairs on it learn."""
    stored, limit = expected(name), {"float16": 5e-3, "int8": 0.08}[precision]
    ids, logits = stored["ids.b1.l65"], stored["logits.b1.l65"][0]
    model = engine.load_model(ROOT / name, device, precision)
    decoder = Decoder(model, precision=precision)
    try:
        own = model.logits(ids[:, :-1])[0]
        assert_close(own, logits, limit)
        assert_close(decoder.read(ids[0, :60]), own[59], CACHE_LIMIT)
        assert_close(decoder.step(int(ids[0, 60])), own[60], CACHE_LIMIT)
        model.attach_adapters()
        step = model.training_step("lora", batch=1, length=65)
        losses = [step.run(ids, AdamW(learning_rate=1e-2), number)().loss for number in range(1, 6)]
        step.close()
        assert losses[-1] < losses[0]
    finally:
        decoder.close()
        model.close()
