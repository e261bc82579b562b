"""Mixtures of experts against what transformers said about them: logits, loss with its balancing term, every gradient
by name, ten AdamW steps, the load of every expert; and that decoding, packing and recomputation change nothing.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

import engine
from engine.generate.decoder import Decoder
from engine.model.files import read_config
from tests.model.stored import LIMITS, assert_close, assert_every_gradient, assert_ten_steps

ROOT = Path(__file__).parents[1] / "fixtures" / "mixture"
CONFIGURATIONS = sorted(folder.name for folder in ROOT.iterdir())
BALANCED = ("experts4_top1", "experts5_top2")
IDLE = 3  # the expert of experts4_top1 that no token goes to
CASES = [(1, 1), (1, 2), (1, 7), (1, 64), (1, 65), (1, 129), (3, 1), (3, 65), (3, 129)]
CACHE_LIMIT = 2e-3  # keys and values are kept in float16


def expected(folder: str) -> dict[str, np.ndarray]:
    return load_file(ROOT / folder / "expected.safetensors")


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_logits_and_losses(device, name):
    stored, limit = expected(name), LIMITS[device.name]
    model = engine.load_model(ROOT / name, device)
    try:
        for b, l in CASES if device.name == "cpu" else CASES[2::3]:
            ids = stored[f"ids.b{b}.l{l}"]
            assert_close(model.logits(ids[:, :-1]), stored[f"logits.b{b}.l{l}"], limit, f"b{b} l{l}")
            assert abs(model.losses(ids).mean() - stored[f"plain.b{b}.l{l}"]) <= limit
    finally:
        model.close()


@pytest.mark.parametrize("case", ["b1.l7", "b3.l65"])
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_loss_and_every_gradient_by_name(device, name, case):
    stored = expected(name)
    assert (stored[f"loss.{case}"] > stored[f"plain.{case}"] + 0.05) == (name in BALANCED)
    with closing(engine.load_model(ROOT / name, device)) as model:
        assert_every_gradient(model, device, stored, case)


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_ten_steps(device, name):
    with closing(engine.load_model(ROOT / name, device)) as model:
        assert_ten_steps(model, device, expected(name))


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_the_load_of_every_expert(device, name):
    stored = expected(name)
    model = engine.load_model(ROOT / name, device)
    try:
        step = model.training_step("full", batch=3, length=65)
        result = step.run(stored["ids.b3.l65"], engine.AdamW(learning_rate=0.0), 1, insight=True)()
        step.close()
    finally:
        model.close()
    assert len(result.layers) == 2
    for insight, load in zip(result.layers, stored["load.b3.l65"], strict=True):
        assert insight.expert_load == pytest.approx(load.tolist(), abs=1e-6)
        if name == "experts4_top1":
            assert insight.expert_load[IDLE] == 0


def test_an_expert_without_tokens_has_no_gradient(device):
    stored = expected("experts4_top1")
    model = engine.load_model(ROOT / "experts4_top1", device)
    try:
        _, gradients = model.loss_and_gradients(stored["ids.b3.l65"])
    finally:
        model.close()
    for layer in range(2):
        experts = f"model.layers.{layer}.block_sparse_moe."
        for name in ("input_linear.weight", "output_linear.weight"):
            assert [part.any() for part in gradients[experts + name]] == [True, True, True, False]
        assert gradients[experts + "router.layer.weight"][IDLE].any()  # what the balancing term pulls


@pytest.mark.parametrize("name", BALANCED)
def test_parts_of_a_batch_add_up_to_it(device, name):
    """The term of each micro-batch counts as much as its tokens do, and padding counts for nothing."""
    stored = expected(name)
    ids = stored["ids.b3.l65"][:2]
    model = engine.load_model(ROOT / name, device)
    still = engine.AdamW(learning_rate=0.0)
    try:
        one = model.training_step("full", batch=1, length=65)
        apart = [one.run(ids[i : i + 1], still, 1)().loss for i in range(2)]
        padded = one.run(ids[:1], still, 1, counted=np.array([40]))().loss
        one.close()
        shorter = model.training_step("full", batch=1, length=40)
        alone = shorter.run(ids[:1, :41], still, 1)().loss
        shorter.close()
        two = model.training_step("full", batch=1, length=65, micro_batches=2)
        together = two.run(ids, still, 1)().loss
        two.close()
    finally:
        model.close()
    assert together == pytest.approx(np.mean(apart), abs=1e-4)
    assert padded == pytest.approx(alone, abs=1e-4)


@pytest.mark.parametrize("name", BALANCED)
def test_recomputed_layers_give_the_same_bits(device, name):
    stored = expected(name)
    ids = stored["ids.b3.l65"]
    model = engine.load_model(ROOT / name, device)
    try:
        loss, kept = model.loss_and_gradients(ids)
        again, recomputed = model.loss_and_gradients(ids, recompute=2)
    finally:
        model.close()
    assert again == loss
    for parameter, gradient in kept.items():
        assert np.array_equal(recomputed[parameter], gradient), parameter


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_decoding_gives_what_training_computes(device, name):
    """A prompt in chunks, tokens one by one, several at once, going back, and another text in between."""
    stored = expected(name)
    ids, logits = stored["ids.b1.l129"][0, :-1], stored["logits.b1.l129"][0]
    model = engine.load_model(ROOT / name, device)
    decoder = Decoder(model)
    try:
        assert_close(decoder.read(ids[:70]), logits[69], CACHE_LIMIT)
        kept = decoder.snapshot()
        for place in (70, 71):
            assert_close(decoder.step(int(ids[place])), logits[place], CACHE_LIMIT)
        assert_close(decoder.read_each(ids[72:80]), logits[72:80], CACHE_LIMIT)
        decoder.restore(kept)
        assert_close(decoder.read(ids[70:129]), logits[128], CACHE_LIMIT)
        decoder.reset()
        decoder.read(stored["ids.b3.l65"][1, :50])
        decoder.restore(kept)
        assert_close(decoder.step(int(ids[70])), logits[70], CACHE_LIMIT)
    finally:
        decoder.close()
        model.close()


@pytest.mark.parametrize("cut", [1, 2, 7, 8, 9, 63, 64, 65, 128])
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_any_cut_of_a_text_is_decoded_alike(cpu, name, cut):
    stored = expected(name)
    ids, logits = stored["ids.b1.l129"][0, :-1], stored["logits.b1.l129"][0]
    model = engine.load_model(ROOT / name, cpu)
    decoder = Decoder(model)
    try:
        assert_close(decoder.read(ids[:cut]), logits[cut - 1], CACHE_LIMIT)
        assert_close(decoder.read(ids[cut:]), logits[-1], CACHE_LIMIT)
    finally:
        decoder.close()
        model.close()


@pytest.mark.parametrize("base", ["float16", "int8"])
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_packed_experts_decode_as_they_compute_and_give_their_weights_back(device, name, base):
    stored = expected(name)
    ids = stored["ids.b1.l129"][0, :-1]
    model = engine.load_model(ROOT / name, device, base)
    plain = load_file(ROOT / name / "model.safetensors")
    try:
        logits = model.logits(ids[None])[0]
        decoder = Decoder(model, precision=base)
        found = [decoder.read(ids[:70]), decoder.step(int(ids[70])), decoder.read(ids[71:79])]
        decoder.close()
        for place, scores in zip((69, 70, 78), found, strict=True):
            assert_close(scores, logits[place], CACHE_LIMIT)
        for parameter, array in model.parameters.items():
            assert array.shape == plain[parameter].shape
            assert_close(array, plain[parameter], 0.01 if base == "int8" else 1e-3, parameter)
        stacks = [parameter for parameter in plain if plain[parameter].ndim == 3]
        assert stacks and all(parameter in model.storage.packed(model.config) for parameter in stacks)
    finally:
        model.close()


@pytest.mark.parametrize("precision", ["float16", "int8"])
def test_a_decoder_of_fewer_bits_is_near(device, precision):
    name = "experts5_top2"
    stored = expected(name)
    ids, logits = stored["ids.b1.l129"][0, :-1], stored["logits.b1.l129"][0]
    model = engine.load_model(ROOT / name, device)
    decoder = Decoder(model, precision=precision)
    try:
        limit = 1e-2 if precision == "int8" else 1e-3
        assert_close(decoder.read(ids[:70]), logits[69], limit)
        assert_close(decoder.step(int(ids[70])), logits[70], limit)
    finally:
        decoder.close()
        model.close()


@pytest.mark.parametrize(
    ("mode", "base"), [("lora", "float32"), ("lora", "int8"), ("qk", "float32"), ("full", "float32")]
)
def test_each_mode_lowers_the_loss_and_changes_nothing_else(device, mode, base):
    stored = expected("experts5_top2")
    ids = stored["ids.b3.l65"]
    model = engine.load_model(ROOT / "experts5_top2", device, base)
    before = {name: array.copy() for name, array in model.parameters.items()}
    try:
        estimate = model.estimate(mode, 3, 65)
        step = model.training_step(mode, batch=3, length=65)
        held = device.ledger.snapshot().by_kind
        losses = [step.run(ids, engine.AdamW(learning_rate=3e-3), number)().loss for number in range(1, 7)]
        step.close()
        changed = {name for name, array in model.parameters.items() if not np.array_equal(array, before[name])}
        adapters = set(model.adapters)
    finally:
        model.close()
    assert held == estimate
    assert losses[-1] < losses[0]
    if mode == "full":
        assert changed == set(before)
    elif mode == "qk":
        assert changed == {name for name in before if ".q_proj.weight" in name or ".k_proj.weight" in name}
    else:
        assert not changed
        assert "model.layers.0.shared_mlp.input_linear.lora_A.weight" in adapters
        assert not any("block_sparse_moe" in name for name in adapters)


def test_the_keys_of_a_configuration_come_back():
    from engine.model.architectures.reading import config_from

    for name in CONFIGURATIONS:
        config = read_config(ROOT / name)
        assert config_from(config.to_hugging_face()) == config
        assert config.experts == int(name[7]) and config.num_experts_per_tok == int(name[-1])
        assert (config.balance_factor > 0) == (name in BALANCED)


@pytest.mark.parametrize(
    ("changed", "match"),
    [
        ({"num_experts_per_tok": 6}, "6 of 5"),
        ({"num_experts_per_tok": None}, "num_experts_per_tok"),
        ({"num_local_experts": -1}, "num_local_experts"),
        ({"intermediate_size": 0}, "expert_size"),
        ({"router_aux_loss_coef": -1.0}, "router_aux_loss_coef"),
    ],
)
def test_what_cannot_be_is_refused_by_name(changed, match):
    from engine.errors import ConfigError
    from engine.model.architectures.reading import config_from

    keys = read_config(ROOT / "experts5_top2").to_hugging_face()
    with pytest.raises(ConfigError, match=match):
        config_from({**keys, **changed})


def test_a_new_model_of_experts_learns(device):
    config = read_config(ROOT / "experts5_top2")
    model = engine.create_model(config, seed=1, device=device)
    ids = expected("experts5_top2")["adamw.ids"]
    try:
        step = model.training_step("full", batch=3, length=32)
        losses = [step.run(one, engine.AdamW(learning_rate=1e-2), number)().loss for number, one in enumerate(ids, 1)]
        step.close()
    finally:
        model.close()
    assert losses[-1] < losses[0] - 0.1


@pytest.mark.parametrize("base", ["float32", "float16", "int8"])
def test_experts_that_come_in_pieces_go_to_their_places(cpu, base, monkeypatch):
    """A large stack is read some experts at a time."""
    plain = load_file(ROOT / "experts5_top2" / "model.safetensors")
    monkeypatch.setattr("engine.tensor_file.PIECE", 600)
    monkeypatch.setattr("engine.tensor_file.PIECE_ROWS", 2)
    model = engine.load_model(ROOT / "experts5_top2", cpu, base)
    try:
        for parameter, array in plain.items():
            assert_close(
                model.parameters[parameter], array, {"int8": 0.01, "float16": 1e-3, "float32": 0}[base], parameter
            )
    finally:
        model.close()
