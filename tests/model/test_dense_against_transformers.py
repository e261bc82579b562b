"""Dense decoders against what transformers said about them: logits, loss, every gradient by name, ten AdamW steps."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

import engine
from engine.generate.decoder import Decoder
from tests.model.stored import LIMITS, assert_close, assert_every_gradient, assert_ten_steps

ROOT = Path(__file__).parents[1] / "fixtures" / "dense"
CONFIGURATIONS = sorted(folder.name for folder in ROOT.iterdir())
CASES = [(b, l) for b in (1, 3) for l in (1, 2, 7, 64, 65, 129)]
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
            assert abs(model.losses(ids).mean() - stored[f"loss.b{b}.l{l}"]) <= limit
    finally:
        model.close()


@pytest.mark.parametrize("case", ["b1.l7", "b3.l65", "b1.l129"])
@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_every_gradient_by_name(device, name, case):
    stored = expected(name)
    with closing(engine.load_model(ROOT / name, device)) as model:
        assert_every_gradient(model, device, stored, case)


@pytest.mark.parametrize("name", ["llama", "qwen3"])
def test_ten_steps(device, name):
    with closing(engine.load_model(ROOT / name, device)) as model:
        assert_ten_steps(model, device, expected(name))


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_decoding_gives_what_training_computes(device, name):
    """A prompt in chunks, tokens one by one, several at once, going back, and another text in between."""
    stored = expected(name)
    ids, logits = stored["ids.b1.l129"][0, :-1], stored["logits.b1.l129"][0]
    other = stored["ids.b3.l129"][1, :50]
    model = engine.load_model(ROOT / name, device)
    decoder = Decoder(model)
    try:
        assert_close(decoder.read(ids[:70]), logits[69], CACHE_LIMIT)
        kept = decoder.snapshot()
        for place in (70, 71):
            assert_close(decoder.step(int(ids[place])), logits[place], CACHE_LIMIT)
        assert_close(decoder.read_each(ids[72:80]), logits[72:80], CACHE_LIMIT)
        decoder.restore(kept)
        assert decoder.position == 70
        assert_close(decoder.read(ids[70:129]), logits[128], CACHE_LIMIT)
        decoder.reset()
        decoder.read(other)
        decoder.restore(kept)
        assert_close(decoder.step(int(ids[70])), logits[70], CACHE_LIMIT)
        start, token, chosen = decoder.snapshot(), int(ids[71]), []
        for _ in range(9):  # eight tokens of one submit, and one more
            token = int(np.argmax(decoder.step(token)))
            chosen.append(token)
        decoder.restore(start)
        assert decoder.greedy(9, int(ids[71])).tolist() == chosen
    finally:
        decoder.close()
        model.close()


def test_a_context_that_was_overwritten_is_put_aside_and_comes_back(cpu, monkeypatch):
    model = engine.load_model(ROOT / "llama", cpu)
    random = np.random.default_rng(0)
    first, second = (random.integers(0, model.config.vocab_size, 200) for _ in range(2))
    decoder = Decoder(model)
    try:
        decoder.read(first)
        kept = decoder.snapshot()
        decoder.reset()
        decoder.read(second)
        reads: list[str] = []
        with monkeypatch.context() as patched:
            patched.setattr(decoder, "_read", lambda *_: reads.append("again"))
            decoder.restore(kept)
        assert decoder.position == 200 and not reads
        after_coming_back = decoder.step(int(first[0]))
        decoder.reset()
        decoder.read(first)
        assert np.array_equal(after_coming_back, decoder.step(int(first[0])))
    finally:
        decoder.close()
        model.close()


def test_a_text_longer_than_the_context_is_refused(cpu):
    from engine.errors import InputError

    model = engine.load_model(ROOT / "llama", cpu)
    decoder = Decoder(model, context=16)
    try:
        with pytest.raises(InputError, match="16 tokens"):
            decoder.read(np.zeros(17, int))
    finally:
        decoder.close()
        model.close()


@pytest.mark.parametrize("mode", ["lora", "qk", "vocabulary", "full"])
def test_each_mode_lowers_the_loss_and_changes_nothing_else(device, mode):
    model = engine.load_model(ROOT / "qwen2", device)
    ids = expected("qwen2")["ids.b3.l64"]
    before = {name: array.copy() for name, array in model.parameters.items()}
    try:
        tokens = np.unique(ids) if mode == "vocabulary" else None
        step = model.training_step(mode, batch=3, length=64, token_ids=tokens)
        losses = [step.run(ids, engine.AdamW(learning_rate=3e-3), number)().loss for number in range(1, 7)]
        step.close()
        changed = {name for name, array in model.parameters.items() if not np.array_equal(array, before[name])}
    finally:
        model.close()
    assert losses[-1] < losses[0]
    if mode == "qk":
        assert changed == {name for name in before if ".q_proj.weight" in name or ".k_proj.weight" in name}
    elif mode == "lora":
        assert not changed
    elif mode == "vocabulary":
        assert changed == {"model.embed_tokens.weight"}
    else:
        assert changed == set(before)


def test_wsla_is_refused_by_name_where_there_is_no_b_and_c(cpu):
    from engine.errors import InputError

    model = engine.load_model(ROOT / "llama", cpu)
    try:
        with pytest.raises(InputError, match="wsla") as refused:
            model.trained_set("wsla")
        assert "qk" in refused.value.remedy
    finally:
        model.close()


def test_packed_documents_do_not_see_each_other(device):
    """After the token that ends a document, losses are those of the second document alone."""
    model = engine.load_model(ROOT / "llama", device)
    random = np.random.default_rng(3)
    end, ids = 0, random.integers(1, 71, (1, 41))
    ids[0, 19] = end
    try:
        model.document_end = end
        step = model.training_step("full", batch=1, length=40)
        together = step.run(ids, engine.AdamW(learning_rate=0.0), 1)().loss * 40
        step.close()
        first, second = model.losses(ids[:, :21]), model.losses(ids[:, 20:])
    finally:
        model.close()
    assert abs(together - (first.sum() + second.sum())) < 1e-2 * together


@pytest.mark.parametrize(
    ("key", "value", "match"),
    [
        ("hidden_act", "gelu", "hidden_act"),
        ("mlp_bias", True, "mlp_bias"),
        ("use_sliding_window", True, "use_sliding_window"),
        ("rope_scaling", {"rope_type": "yarn", "factor": 4.0}, "yarn"),
        ("num_local_experts", 8, "num_local_experts"),
        ("layer_types", ["attention", "mamba"], "mamba"),
        ("num_key_value_heads", 5, "evenly"),
        ("partial_rotary_factor", 0.5, "partial_rotary_factor"),
        ("some_new_switch", True, "some_new_switch"),
        ("embedding_multiplier", 2.0, "embedding_multiplier"),
    ],
)
def test_what_would_change_the_result_is_refused_by_name(key, value, match):
    from engine.errors import ConfigError
    from engine.model.architectures.reading import config_from

    keys = {
        "model_type": "llama", "vocab_size": 10, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2,
        "intermediate_size": 8,
    }  # fmt: skip
    with pytest.raises(ConfigError, match=match):
        config_from({**keys, key: value})


def test_what_granite_leaves_unsaid_is_as_in_transformers():
    """Its scores are then not scaled at all; and a bias that its multiplier would have to scale is refused."""
    from engine.errors import ConfigError
    from engine.model.architectures.reading import config_from

    keys = {
        "model_type": "granite", "vocab_size": 10, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2,
        "intermediate_size": 8,
    }  # fmt: skip
    (attention, _) = config_from(keys).blocks(0)
    assert attention.scale == 1.0
    assert config_from({**keys, "attention_bias": True}).output_bias
    with pytest.raises(ConfigError, match="bias of an output projection"):
        config_from({**keys, "attention_bias": True, "residual_multiplier": 0.5})


def test_the_keys_of_a_configuration_come_back():
    from engine.model.architectures.reading import config_from
    from engine.model.files import read_config

    for name in CONFIGURATIONS:
        config = read_config(ROOT / name)
        assert config_from(config.to_hugging_face()) == config


def test_a_text_that_begins_like_an_earlier_one_is_read_from_where_they_part(cpu):
    model = engine.load_model(ROOT / "llama", cpu)
    random = np.random.default_rng(0)
    first, second = (random.integers(0, model.config.vocab_size, 200) for _ in range(2))
    edited = np.concatenate([first[:150], second[:40]])
    decoder = Decoder(model)
    try:
        assert decoder.keeps_every_prefix and decoder.return_to(first) == 0
        decoder.read(first)
        assert decoder.return_to(first) == 199  # the last one is read again, for its scores
        assert decoder.return_to(edited) == decoder.position == 150
        found = decoder.read(edited[150:])
        decoder.return_to(second)
        decoder.read(second)
        assert decoder.return_to(first) == 150  # the rest of it was overwritten by the edited text
        decoder.read(first[150:])
        fresh = Decoder(model)
        assert_close(found, fresh.read(edited), 1e-5)
        fresh.close()
    finally:
        decoder.close()
        model.close()
