"""Mode vocabulary: the low-rank pairs, and of the embedding the rows of the given tokens and no other byte."""

import math

import numpy as np
import pytest

from engine.errors import InputError
from engine.model.step import AdamW
from tests.model.differences import assert_slope_is_gradient
from tests.model.test_adapters import randomise
from tests.model.test_large_vocabulary import WIDE, narrow
from tests.model.tiny import ODD, TINY, assert_close, batch, open_model, same_bytes

EMBEDDING = "backbone.embeddings.weight"
TOKENS = np.array([40, 3, 7, 7, 0, 21, 42])  # unordered, one twice; some occur in a batch and some do not
ROWS = np.unique(TOKENS)


def everything(model):
    return {**model.parameters, **model.adapters}


# ---- gradients


@pytest.mark.parametrize("config", [TINY, ODD], ids=["tied", "untied"])
@pytest.mark.parametrize("l", [1, 66])
def test_gradients_are_those_of_lora_and_rows_of_the_full_gradient(config, l, device):
    with open_model(device, config) as model:
        model.attach_adapters(rank=3, scale=0.7)
        randomise(model)
        ids = batch(2, l + 1, config["vocab_size"])
        full_loss, full = model.loss_and_gradients(ids, "full")
        _, lora = model.loss_and_gradients(ids, "lora")
        loss, gradients = model.loss_and_gradients(ids, "vocabulary", token_ids=TOKENS)
        assert loss == pytest.approx(full_loss, rel=1e-6)
        assert_close(gradients, lora | {EMBEDDING: full[EMBEDDING][ROWS]}, 1e-5)
        assert np.abs(gradients[EMBEDDING]).max() > 0


@pytest.mark.parametrize("config", [TINY, ODD], ids=["tied", "untied"])
def test_the_gradient_of_the_rows_is_the_slope_of_the_loss(config, cpu):
    with open_model(cpu, config) as model:
        model.attach_adapters(rank=3)
        randomise(model)
        ids = batch(2, 40, config["vocab_size"])
        _, gradients = model.loss_and_gradients(ids, "vocabulary", token_ids=TOKENS)
        in_place = np.zeros((config["vocab_size"], config["hidden_size"]), np.float32)
        in_place[ROWS] = gradients[EMBEDDING]
        assert_slope_is_gradient(lambda: float(model.losses(ids).mean()), model.parameters, EMBEDDING, in_place)


def test_other_tokens_are_another_program(cpu):
    """Compiled programs are kept by shape; the rows that they train are part of it."""
    with open_model(cpu) as model:
        ids = batch(1, 9)
        _, full = model.loss_and_gradients(ids)
        for tokens in ([1, 2], [4, 5]):
            _, gradients = model.loss_and_gradients(ids, "vocabulary", token_ids=np.array(tokens))
            np.testing.assert_allclose(gradients[EMBEDDING], full[EMBEDDING][tokens], atol=1e-5)


# ---- training


@pytest.mark.parametrize("mode", ["vocabulary", "lora"])
def test_training_changes_those_rows_and_the_pairs_and_no_other_byte(mode, device):
    """Also not the rows of tokens that occur in the batch and were not given."""
    with open_model(device) as model:
        before = dict(model.parameters)
        step = model.training_step(mode, 2, 12, token_ids=TOKENS)
        pairs = dict(model.adapters)
        optimiser = AdamW(learning_rate=1e-2, weight_decay=0.1)
        for number in range(1, 6):
            assert step.run(batch(2, 13, seed=number), optimiser, number)().applied
        step.close()
        after = dict(model.parameters)
        assert (after[EMBEDDING][ROWS] != before[EMBEDDING][ROWS]).all()
        after[EMBEDDING][ROWS] = before[EMBEDDING][ROWS]
        assert same_bytes(after, before)
        assert all((model.adapters[name] != pairs[name]).any() for name in pairs)


def test_a_step_is_adamw_of_the_rows(device):
    optimiser = AdamW(learning_rate=0.02, beta1=0.8, beta2=0.95, epsilon=1e-6, weight_decay=0.3, max_norm=0.0)
    ids = batch(2, 10)
    with open_model(device) as model:
        model.attach_adapters(rank=2)
        randomise(model)
        _, gradients = model.loss_and_gradients(ids, "vocabulary", token_ids=TOKENS)
        before = everything(model)
        step = model.training_step("vocabulary", 2, 9, token_ids=TOKENS)
        result = step.run(ids, optimiser, 1)()
        step.close()
        after = everything(model)
    norm = math.sqrt(sum(float(np.sum(g.astype(np.float64) ** 2)) for g in gradients.values()))
    assert result.gradient_norm == pytest.approx(norm, rel=1e-5)
    w, g = before[EMBEDDING][ROWS].astype(np.float64), gradients[EMBEDDING].astype(np.float64)
    expected = w - 0.02 * (g / (np.abs(g) + 1e-6) + 0.3 * w)
    assert_close({"rows": after[EMBEDDING][ROWS]}, {"rows": expected}, 1e-5)


def test_micro_batches_give_the_update_of_one_large_batch(device):
    found = []
    for parts in (1, 2):
        with open_model(device) as model:
            step = model.training_step("vocabulary", 4 // parts, 9, parts, token_ids=TOKENS)
            optimiser = AdamW(learning_rate=1e-2, epsilon=1e-3)
            results = [step.run(batch(4, 10), optimiser, number)() for number in (1, 2)]
            found.append((results[-1].loss, step.trained.read(model)))
            step.close()
    (loss, rows), (cut_loss, cut_rows) = found
    assert cut_loss == pytest.approx(loss, rel=1e-5)
    assert_close(cut_rows, rows, 1e-4)


def test_more_is_learned_than_with_pairs_alone(cpu):
    losses = {}
    for mode in ("lora", "vocabulary"):
        with open_model(cpu) as model:
            tokens = np.arange(TINY["vocab_size"]) if mode == "vocabulary" else None
            step = model.training_step(mode, 2, 12, token_ids=tokens)
            runs = [step.run(batch(2, 13), AdamW(learning_rate=1e-2), number)().loss for number in range(1, 21)]
            losses[mode] = runs[-1]
            step.close()
    assert losses["vocabulary"] < losses["lora"] - 0.1


@pytest.mark.parametrize("tied", [True, False])
def test_a_table_in_blocks_gives_what_one_block_gives(tied, device, monkeypatch):
    """Tokens at both sides of two borders, at the ends, and none in the third of four blocks."""
    tokens = np.array([0, 5, 12_287, 12_288, 24_575, 36_864, 40_008])
    ids = np.array([[0, 12_287, 12_288, 24_575, 24_576], [36_863, 36_864, 40_008, 1, 12_288]])
    found = []
    for blocks in (1, 4):
        if blocks > 1:
            narrow(device, monkeypatch)
        with open_model(device, WIDE | {"tie_word_embeddings": tied}) as model:
            model.attach_adapters(rank=2)
            randomise(model)
            assert len(model.network.parameters[EMBEDDING].blocks) == blocks
            before = model.parameters[EMBEDDING]
            _, gradients = model.loss_and_gradients(ids, "vocabulary", token_ids=tokens)
            step = model.training_step("vocabulary", 2, 4, token_ids=tokens)
            assert len(step.trained.rows[EMBEDDING].blocks) == (1 if blocks == 1 else 3)
            step.run(ids, AdamW(learning_rate=1e-2, epsilon=1e-3), 1)()
            rows = step.trained.read(model)[EMBEDDING]
            step.close()
            after = model.parameters[EMBEDDING]
            np.testing.assert_array_equal(after[tokens], rows)
            assert set(np.flatnonzero((after != before).any(axis=1))) <= set(tokens)
            found.append((gradients, rows))
    assert_close(found[1][0], found[0][0], 1e-4)
    np.testing.assert_allclose(found[1][1], found[0][1], atol=1e-5)


# ---- reading and writing what is trained


@pytest.mark.parametrize("mode", ["full", "wsla", "lora", "vocabulary"])
def test_what_is_trained_can_be_read_and_written_back(mode, device):
    with open_model(device, ODD) as model:
        step = model.training_step(mode, 1, 8, token_ids=TOKENS)
        begin = everything(model)
        kept = step.trained.read(model)
        assert {name: array.shape for name, array in kept.items()} == {
            name: (sum(g.shape[0] for g in rows.gradients), *rows.parameter.shape[1:])
            for name, rows in step.trained.rows.items()
        }
        if mode == "vocabulary":
            np.testing.assert_array_equal(kept[EMBEDDING], begin[EMBEDDING][ROWS])
        for number in (1, 2):
            assert step.run(batch(1, 9, ODD["vocab_size"], seed=number), AdamW(learning_rate=1e-2), number)().applied
        moved = step.trained.read(model)
        assert all((moved[name] != kept[name]).any() for name in kept)
        step.trained.write(model, kept)
        assert same_bytes(everything(model), begin)
        step.trained.write(model, moved)
        assert same_bytes(step.trained.read(model), moved)
        with pytest.raises(InputError, match="shape"):
            step.trained.write(model, {name: array[:-1] for name, array in kept.items()})
        step.close()


# ---- what is refused


@pytest.mark.parametrize(
    ("tokens", "match"),
    [
        (None, "needs the tokens"),
        ([], "none"),
        ([1.5, 2.0], "whole numbers"),
        ([1, TINY["vocab_size"]], f"Token id {TINY['vocab_size']} is out of range"),
        ([-1, 3], "Token id -1 is out of range"),
    ],
    ids=str,
)
def test_tokens_that_cannot_be_trained_are_refused(tokens, match, cpu):
    with open_model(cpu) as model:
        held = cpu.ledger.total
        for ask in (model.training_step, model.estimate):
            with pytest.raises(InputError, match=match):
                ask("vocabulary", 1, 8, token_ids=tokens)
        with pytest.raises(InputError, match=match):
            model.loss_and_gradients(batch(1, 9), "vocabulary", token_ids=tokens)
        assert cpu.ledger.total == held  # and no adapters were attached
        assert len(model.adapters) == 0
