"""A model whose large matrices are kept in 16 or 8 bits computes what a float32 model with the rounded weights does."""

from contextlib import contextmanager

import ml_dtypes
import numpy as np
import pytest

import engine
from engine import tensor_file
from engine.errors import InputError
from engine.graph.parameters import PackedMatrix
from engine.graph.tensor import Kind
from engine.model import layout
from engine.model.model import Model
from engine.model.selection import storage_for
from engine.model.step import AdamW
from engine.model.storage import Storage
from tests.generate.test_decoder_precision import rounded
from tests.model.differences import assert_slope_is_gradient
from tests.model.tiny import ODD, assert_close, batch, open_model, relative_error, same_bytes

DENSE = {
    "model_type": "qwen2",
    "hidden_size": 36,
    "num_hidden_layers": 2,
    "vocab_size": 61,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "intermediate_size": 52,
    "tie_word_embeddings": True,
}
UNTIED = DENSE | {"model_type": "llama", "tie_word_embeddings": False}
CONFIGS = pytest.mark.parametrize("config", [DENSE, UNTIED, ODD], ids=["tied", "untied", "mamba"])
NARROW = pytest.mark.parametrize("precision", ["float16", "int8"])
TOKENS = np.arange(0, 40, 3)


def tokens_of(mode: str) -> np.ndarray | None:
    """Those whose embedding rows are trained."""
    return TOKENS if mode == "vocabulary" else None


@contextmanager
def open_both(device, config, precision, mode="lora"):
    """A packed model, and a float32 one with the very weights that packing has left."""
    with open_model(device, config) as wide:
        packed = Model(wide.config, device, storage_for(wide.config, mode, precision))
        try:
            packed.parameters.fill(wide.parameters)
            wide.parameters.fill(packed.parameters)
            yield packed, wide
        finally:
            packed.close()


def randomise(*models):
    for model in models:
        random = np.random.default_rng(1)
        for name, array in model.attach_adapters(rank=3, scale=0.7).items():
            model.adapters[name] = 0.3 * random.standard_normal(array.shape, np.float32)


def block_of(model, name):
    return model.network.parameters[name].blocks[0]


# ---- what is kept


@CONFIGS
@NARROW
def test_the_large_matrices_are_rounded_and_nothing_else_is(device, config, precision):
    with open_model(device, config) as wide:
        packed = Model(wide.config, device, Storage(precision))
        packed.parameters.fill(wide.parameters)
        for name, array in wide.parameters.items():
            if name in wide.config.large_matrices:
                assert isinstance(block_of(packed, name), PackedMatrix)
                assert relative_error(packed.parameters[name], rounded(array, precision)) < 1e-6
                assert (packed.parameters[name] != array).any()
            else:
                assert packed.parameters[name].tobytes() == array.tobytes()
        packed.close()


def test_it_takes_half_or_a_quarter_of_the_memory(fresh_device):
    config = DENSE | {"hidden_size": 96, "vocab_size": 997, "intermediate_size": 224}
    held = {}
    for precision in ("float32", "float16", "int8"):
        model = engine.create_model(config, device=fresh_device, precision=precision)
        held[precision] = fresh_device.ledger.snapshot().by_kind[Kind.WEIGHTS]
        model.close()
        assert fresh_device.ledger.total == 0
    assert held["float16"] / held["float32"] == pytest.approx(1 / 2, rel=0.05)
    assert held["int8"] / held["float32"] == pytest.approx((1 + 4 / 32) / 4, rel=0.05)  # a scale for each 32 bytes


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "uint16"])
@NARROW
def test_pieces_and_blocks_of_rows_leave_no_trace(device, precision, dtype, monkeypatch):
    """Odd numbers of rows and columns, a table in several blocks, and pieces that end in the middle of one."""
    table = "backbone.embeddings.weight"
    config = ODD | {"vocab_size": 331, "tie_word_embeddings": True}
    values = np.random.default_rng(0).standard_normal((331, 17)).astype(ml_dtypes.bfloat16)
    given = values.view(np.uint16) if dtype == "uint16" else values.astype(dtype)
    found = []
    for blocks, array in ([331], values.astype(np.float32)), ([101, 101, 101, 28], given):
        if len(blocks) > 1:
            monkeypatch.setattr(layout, "WIDENED_BYTES", 101 * 17 * 4)
            monkeypatch.setattr(tensor_file, "PIECE", 64)
        model = engine.create_model(config, device=device, precision=precision)
        assert [block.rows for block in model.network.parameters[table].blocks] == blocks
        model.parameters[table] = array
        found.append(model.parameters[table])
        model.close()
    np.testing.assert_array_equal(found[1], found[0])


def test_what_float16_cannot_hold_is_refused_by_name(cpu):
    model = engine.create_model(DENSE, device=cpu, precision="float16")
    name = "model.layers.1.mlp.up_proj.weight"
    with pytest.raises(InputError, match=rf"{name}.*float16 cannot hold.*int8"):
        model.parameters[name] = np.full((52, 36), 7e4, np.float32)
    model.close()


def test_a_folder_is_loaded_into_any_precision(cpu, tmp_path):
    with open_both(cpu, DENSE, "int8") as (packed, wide):
        wide.save(tmp_path)
        loaded = engine.load_model(tmp_path, cpu, precision="int8")
        assert_close(dict(loaded.parameters), dict(packed.parameters), 1e-6)
        loaded.close()
    with pytest.raises(InputError, match=r"no precision 'int4'.*float32, float16, int8"):
        engine.load_model(tmp_path, cpu, precision="int4")


# ---- what it computes


@CONFIGS
@NARROW
def test_logits_losses_and_gradients_are_those_of_the_rounded_weights(device, config, precision):
    with open_both(device, config, precision) as (packed, wide):
        randomise(packed, wide)
        ids = batch(2, 21, config["vocab_size"])
        assert relative_error(packed.logits(ids), wide.logits(ids)) < 1e-5
        assert relative_error(packed.losses(ids), wide.losses(ids)) < 1e-5
        loss, gradients = packed.loss_and_gradients(ids, "lora")
        expected_loss, expected = wide.loss_and_gradients(ids, "lora")
        assert loss == pytest.approx(expected_loss, rel=1e-6)
        assert_close(gradients, expected, 1e-5)
        assert all(np.abs(gradient).max() > 1e-4 for gradient in gradients.values())
        again = packed.loss_and_gradients(ids, "lora", recompute=2)[1]
        assert same_bytes(again, gradients)


@NARROW
def test_few_tokens_as_well(device, precision):
    """Up to eight rows go through kernels that read the packed numbers themselves."""
    with open_both(device, DENSE, precision) as (packed, wide):
        randomise(packed, wide)
        ids = batch(1, 6, DENSE["vocab_size"])
        assert relative_error(packed.logits(ids), wide.logits(ids)) < 1e-5
        assert_close(packed.loss_and_gradients(ids, "lora")[1], wide.loss_and_gradients(ids, "lora")[1], 2e-5)


@NARROW
def test_a_head_in_blocks_gives_the_same(device, precision, monkeypatch):
    monkeypatch.setattr(layout, "WIDENED_BYTES", 17 * 36 * 4)
    with open_both(device, DENSE, precision) as (packed, wide):
        assert len(packed.network.head.blocks) == 4
        randomise(packed, wide)
        ids = batch(3, 40, DENSE["vocab_size"])
        assert relative_error(packed.losses(ids), wide.losses(ids)) < 1e-5
        assert_close(packed.loss_and_gradients(ids, "lora")[1], wide.loss_and_gradients(ids, "lora")[1], 1e-5)


@CONFIGS
def test_gradients_agree_with_finite_differences(cpu, config):
    with open_both(cpu, config, "int8") as (model, _):
        randomise(model)
        ids = batch(2, 12, config["vocab_size"])
        _, gradients = model.loss_and_gradients(ids, "lora")
        for name, gradient in gradients.items():
            assert_slope_is_gradient(lambda: model.loss_and_gradients(ids, "lora")[0], model.adapters, name, gradient)


# ---- what is trained


@pytest.mark.parametrize("config", [DENSE, ODD], ids=["tied", "mamba"])
@NARROW
def test_training_lowers_the_loss_and_leaves_the_base_as_it_is(device, config, precision):
    with open_both(device, config, precision) as (packed, _):
        ids = batch(2, 13, config["vocab_size"])
        before = dict(packed.parameters)
        step = packed.training_step("lora", 2, 12)
        losses = [step.run(ids, AdamW(learning_rate=1e-2), number)().loss for number in range(1, 16)]
        step.close()
        assert losses[-1] < losses[0] - 0.1
        assert same_bytes(dict(packed.parameters), before)


@pytest.mark.parametrize(
    ("mode", "config", "own"),
    [
        ("vocabulary", DENSE, {"model.embed_tokens.weight"}),
        ("vocabulary", UNTIED, {"model.embed_tokens.weight"}),
        ("qk", DENSE, {f"model.layers.{i}.self_attn.{p}_proj.weight" for i in (0, 1) for p in "qk"}),
        ("wsla", ODD, set()),  # trains what is never packed
    ],
)
def test_what_a_mode_trains_of_the_model_itself_stays_float32(device, mode, config, own):
    with open_both(device, config, "int8", mode) as (packed, wide):
        names = packed.config.large_matrices
        kept_wide = {name for name in names if not isinstance(block_of(packed, name), PackedMatrix)}
        assert kept_wide == own
        ids = batch(2, 20, config["vocab_size"])
        found, expected = (
            model.loss_and_gradients(ids, mode, token_ids=tokens_of(mode))[1] for model in (packed, wide)
        )
        assert_close(found, expected, 2e-5)
        step = packed.training_step(mode, 2, 19, token_ids=tokens_of(mode))
        losses = [step.run(ids, AdamW(learning_rate=1e-2), number)().loss for number in range(1, 11)]
        step.close()
        assert losses[-1] < losses[0]


def test_modes_that_would_train_what_is_packed_are_refused_by_name(cpu):
    with pytest.raises(InputError, match=r"full.*every weight.*int8.*lora"):
        storage_for(engine.create_model(DENSE, device=cpu).config, "full", "int8")
    with open_both(cpu, DENSE, "float16") as (packed, _):
        held = cpu.ledger.total
        for mode in ("full", "qk", "vocabulary"):
            with pytest.raises(InputError, match=rf"Mode {mode} trains model\..*float16.*float32"):
                packed.training_step(mode, 1, 8, token_ids=tokens_of(mode))
        packed.close()
        assert cpu.ledger.total < held


# ---- what it costs


@pytest.mark.parametrize("mode", ["lora", "vocabulary", "qk"])
@NARROW
def test_the_estimate_is_the_peak_of_a_run(fresh_device, mode, precision):
    model = engine.create_model(DENSE, device=fresh_device)
    config = model.config
    model.close()
    packed = Model(config, fresh_device, storage_for(config, mode, precision))
    more = {"token_ids": tokens_of(mode), "recompute": 1}
    fresh_device.ledger._peak = 0  # of the float32 model above
    estimate = engine.estimate_training(config, fresh_device, mode, 2, 30, 2, **more, precision=precision)
    assert packed.estimate(mode, 2, 30, 2, **more) == estimate
    step = packed.training_step(mode, 2, 30, 2, **more)
    assert step.run(batch(4, 31, DENSE["vocab_size"]), AdamW(), 1, insight=True)().applied
    assert fresh_device.ledger.snapshot().by_kind == estimate
    assert fresh_device.ledger.snapshot().peak == sum(estimate.values())
    step.close()
    packed.close()


@NARROW
def test_where_single_rows_are_trained_besides_the_embedding_stays_float32(fresh_device, precision):
    """As for the tokens of fill-in-the-middle that a base is taught."""
    model = engine.create_model(DENSE, device=fresh_device)
    config = model.config
    model.close()
    packed = Model(config, fresh_device, storage_for(config, "lora", precision, TOKENS))
    assert not isinstance(block_of(packed, config.embedding_name), PackedMatrix)
    _, gradients = packed.loss_and_gradients(batch(2, 20, DENSE["vocab_size"]), "lora", token_ids=TOKENS)
    assert gradients[config.embedding_name].shape == (len(TOKENS), config.hidden_size)
    packed.close()
