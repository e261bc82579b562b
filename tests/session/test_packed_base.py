"""Runs over a base that is kept in 16 or 8 bits: recorded, resumed over the same base, and saved on the true one."""

import numpy as np
import pytest

from engine.checkpoints.store.delta import Delta, DeltaPart
from engine.checkpoints.store.loading import load_checkpoint
from engine.checkpoints.store.store import CheckpointStore, Facts
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.errors import InputError
from engine.model import layout
from engine.model.architectures.reading import config_from
from engine.model.selection import adapter_names
from engine.session import Session, SessionPlan, resume_session
from engine.session.batches import HELD_OUT_BATCH
from engine.train.events import CheckpointEvent, EvaluationEvent, FinishedEvent, PlanEvent, StepEvent
from engine.train.memory_fitting import Fit, run_estimate
from engine.train.saved_run import load_run
from tests.session.small_repository import OPTIONS, save_base

LORA = OPTIONS.changed(mode="lora", rank=2)
PRECISIONS = pytest.mark.parametrize("precision", ["float32", "float16", "int8"])


@pytest.fixture
def dense_base(data_folder, tiny_base):
    store = CheckpointStore(data_folder / "checkpoints")
    tokenizer = Tokenizer.load(store.tokenizer_path(tiny_base.id))
    keys = {"hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 40}
    config = config_from({**keys, "model_type": "llama", "vocab_size": tokenizer.vocab_size})
    return save_base(data_folder, tokenizer, "dense", config=config)


def ran(session):
    try:
        return list(session.run())
    finally:
        session.close()


def only(events, kind):
    (event,) = (event for event in events if isinstance(event, kind))
    return event


def figures(events):
    return [
        (event.event, event.step, getattr(event, "loss", None) or event.held_out_loss)
        for event in events
        if isinstance(event, StepEvent | EvaluationEvent)
    ]


@PRECISIONS
@pytest.mark.parametrize("mode", ["lora", "vocabulary", "qk"])
def test_a_run_says_what_it_was_trained_over_and_changes_the_true_base(
    precision, mode, repository, data_folder, dense_base, cpu
):
    store = CheckpointStore(data_folder / "checkpoints")
    options = LORA.changed(mode=mode, base_precision=precision, steps=12)
    events = ran(Session(SessionPlan(repository, data_folder, options, dense_base.id), cpu))
    assert only(events, PlanEvent).base_precision == precision
    finished, saved = only(events, FinishedEvent), only(events, CheckpointEvent)
    assert finished.held_out_after < finished.held_out_before
    manifest = store.get(saved.checkpoint)
    assert manifest.kind == "delta" and manifest.options["base_precision"] == precision
    card = (store.folder_of(manifest.id) / "card.md").read_text()
    assert (f"its base kept in {precision}" in card) == (precision != "float32")
    delta = store.load_delta(manifest.id)
    with store.load_parameters(dense_base.id) as before, store.load_parameters(manifest.id) as after:
        for name in before:
            expected = np.array(before[name])
            for part in (part for part in delta.parts if part.parameter == name):
                if part.kind == "low_rank":
                    down, up = (np.array(delta.tensors[key]) for key in adapter_names(name))
                    expected += up @ down
                elif part.kind == "rows":
                    expected[part.first : part.last] = delta.tensors[part.tensor]
                else:
                    expected[np.array(delta.tensors[part.index])] = delta.tensors[part.tensor]
            np.testing.assert_allclose(after[name], expected, atol=1e-6)
    assert cpu.ledger.total == 0


def test_auto_takes_what_fits_and_a_resumed_run_keeps_it(repository, data_folder, dense_base, cpu, monkeypatch):
    """Under a low ceiling the base is packed; resumed under a high one, it is the same run bit for bit."""
    monkeypatch.setattr(layout, "WIDENED_BYTES", 2**12)
    store = CheckpointStore(data_folder / "checkpoints")
    high, config = cpu.ledger.ceiling, store.config(dense_base.id)
    estimate = run_estimate(config, cpu, LORA, "float32", None, HELD_OUT_BATCH)(Fit(1, 2))
    low = sum(estimate.values()) - 1
    plan = SessionPlan(repository, data_folder, LORA, dense_base.id)

    cpu.ledger.ceiling = low
    whole = ran(Session(plan, cpu))
    taken = only(whole, PlanEvent).base_precision
    assert taken in ("float16", "int8")
    session = Session(plan, cpu)
    first = []
    while session.trainer.step < 3:
        first += session.advance()
    session.save_progress()
    run = session.run_id
    session.close()
    assert load_run(data_folder / "runs", run).options.base_precision == taken

    cpu.ledger.ceiling = high
    second = ran(resume_session(run, data_folder, lambda: cpu))
    assert only(second, PlanEvent).base_precision == taken
    assert sorted(figures(first + second)) == sorted(figures(whole))

    high_up = ran(Session(plan, cpu))
    assert only(high_up, PlanEvent).base_precision == "float32"


def test_full_over_a_packed_base_is_refused_by_name_before_anything_is_read(repository, data_folder):
    for precision in ("float16", "int8"):
        with pytest.raises(InputError, match=rf"full.*{precision}.*lora"):
            SessionPlan(repository, data_folder, OPTIONS.changed(mode="full", base_precision=precision))
    SessionPlan(repository, data_folder, OPTIONS.changed(mode="full", base_precision="float32"))


def test_pairs_are_trained_further_over_a_packed_base(repository, data_folder, dense_base, cpu):
    store = CheckpointStore(data_folder / "checkpoints")
    options = LORA.changed(base_precision="int8", steps=12)
    first = ran(Session(SessionPlan(repository, data_folder, options, dense_base.id), cpu))
    one = only(first, CheckpointEvent).checkpoint
    second = ran(Session(SessionPlan(repository, data_folder, options.changed(seed=3), one), cpu))
    ended = only(first, FinishedEvent).held_out_after
    assert next(e for e in second if isinstance(e, EvaluationEvent)).held_out_loss == pytest.approx(ended, rel=1e-6)
    two = store.get(only(second, CheckpointEvent).checkpoint)
    assert two.kind == "delta" and two.base.id == dense_base.id and store.verify(two.id) == []


def test_what_is_saved_whole_has_the_unrounded_base(repository, data_folder, dense_base, cpu):
    """A delta of rows that no mode trains cannot be continued as a delta."""
    store = CheckpointStore(data_folder / "checkpoints")
    name = "model.layers.0.mlp.up_proj.weight"
    odd = Delta((DeltaPart("rows", name, last=3, tensor=name),), {name: np.zeros((3, 24), np.float32)})
    base = store.save_delta(Facts("odd", "merge"), base=dense_base.id, delta=odd)
    options = LORA.changed(base_precision="int8", steps=12)
    saved = only(ran(Session(SessionPlan(repository, data_folder, options, base.id), cpu)), CheckpointEvent)
    assert store.get(saved.checkpoint).kind == "whole"
    with store.load_parameters(base.id) as before, store.load_parameters(saved.checkpoint) as after:
        for table in ("model.embed_tokens.weight", "lm_head.weight", "model.norm.weight"):
            np.testing.assert_array_equal(after[table], before[table])
        changed = np.array(after[name]) - np.array(before[name])
        assert 0 < np.linalg.matrix_rank(changed, tol=1e-5) <= 2  # the pair alone, no rounding


@PRECISIONS
def test_a_checkpoint_is_loaded_in_any_precision(precision, repository, data_folder, dense_base, cpu):
    store = CheckpointStore(data_folder / "checkpoints")
    saved = only(ran(Session(SessionPlan(repository, data_folder, LORA, dense_base.id), cpu)), CheckpointEvent)
    model, _ = load_checkpoint(store, saved.checkpoint, cpu, precision)
    wide, _ = load_checkpoint(store, saved.checkpoint, cpu)
    assert model.storage.precision == precision
    ids = np.arange(12)[None]
    limit = {"float32": 0, "float16": 2e-3, "int8": 5e-2}[precision]
    assert np.abs(model.logits(ids) - wide.logits(ids)).max() <= limit
    model.close()
    wide.close()
