"""From a folder to a checkpoint, one thing at a time."""

import re

import numpy as np
import pytest

from engine.checkpoints.store.store import CheckpointStore
from engine.corpus.repository import Repository
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.session import Session, SessionPlan
from engine.session import session as session_module
from engine.train.events import CheckpointEvent, EvaluationEvent, FinishedEvent, PlanEvent, StepEvent
from tests.session.small_repository import OPTIONS


def ran(session):
    try:
        return list(session.run())
    finally:
        session.close()


def test_a_folder_becomes_a_checkpoint_that_is_better_on_held_out_code(repository, data_folder, cpu):
    events = ran(Session(SessionPlan(repository, data_folder, OPTIONS), cpu))
    finished, saved = events[-2:]
    assert isinstance(finished, FinishedEvent) and finished.held_out_after < finished.held_out_before
    assert isinstance(saved, CheckpointEvent) and saved.name == "shop #1"
    store = CheckpointStore(data_folder / "checkpoints")
    manifest = store.get(saved.checkpoint)
    assert manifest.metrics["held_out_loss"] == pytest.approx(finished.held_out_after)
    assert manifest.data["root"] == str(repository) and manifest.data["files"] == 9
    assert store.verify(manifest.id) == []
    assert next(line["event"] for line in store.history(manifest.id)) == "plan"
    assert not list((data_folder / "runs").glob("*"))
    assert cpu.ledger.total == 0


@pytest.mark.parametrize("mode", ["wsla", "lora", "vocabulary"])
def test_a_small_mode_leaves_a_delta_that_changes_only_what_it_trains(mode, repository, data_folder, tiny_base, cpu):
    options = OPTIONS.changed(mode=mode, rank=2)
    session = Session(SessionPlan(repository, data_folder, options, tiny_base.name), cpu)
    ids = session._token_ids
    saved = ran(session)[-1]
    store = CheckpointStore(data_folder / "checkpoints")
    manifest = store.get(saved.checkpoint)
    assert manifest.kind == "delta" and manifest.base.id == tiny_base.id and manifest.mode == mode
    base, changed = (dict(store.load_parameters(m)) for m in (tiny_base.id, saved.checkpoint))
    moved = {name for name in base if not np.array_equal(base[name], changed[name])}
    wanted = ("x_proj.weight",) if mode == "wsla" else ("in_proj.weight", "out_proj.weight")
    table = "backbone.embeddings.weight"
    assert moved - {table} and all(name.endswith(wanted) for name in moved - {table})
    assert (table in moved) == (mode == "vocabulary")
    if mode == "vocabulary":
        rows = np.flatnonzero((base[table] != changed[table]).any(axis=1))
        assert 0 < len(ids) < len(base[table]) and set(rows) <= set(ids)
        tokens = np.concatenate([session.corpus.document_tokens(d) for d in session.corpus.learned_documents])
        assert set(np.unique(tokens)) <= set(ids)


def test_a_file_that_is_much_of_what_is_learned_is_named(repository, data_folder, tiny_base, cpu):
    """It is often data; a folder with few files is no case of it."""
    options = OPTIONS.changed(steps=2)

    def notes():
        plan = SessionPlan(repository, data_folder, options, tiny_base.id)
        return [event.text for event in ran(Session(plan, cpu)) if event.event == "note" and "learned" in event.text]

    assert notes() == []
    (repository / "codes.txt").write_text("\n".join(f"{n:05},{n * 7919 % 10007:05},yes" for n in range(3000)))
    (repository / "more").mkdir()
    for number in range(6):
        (repository / "more" / f"part_{number}.py").write_text(
            f"def part_{number}(value):\n    return value + {number}\n"
        )
    (note,) = notes()
    assert re.match(r"codes\.txt is \d\d %", note)


def test_advance_does_one_thing_at_a_time_and_gives_what_run_gives(repository, data_folder, tiny_base, cpu):
    plan = SessionPlan(repository, data_folder, OPTIONS, tiny_base.id)
    whole = ran(Session(plan, cpu))
    session = Session(plan, cpu)
    turns = []
    while not session.finished:
        turns.append(session.advance())
    assert session.advance() == []
    session.close()
    kinds = [[event.event for event in turn if event.event not in ("note", "layers")] for turn in turns]
    assert all(kind.count("step") + kind.count("evaluation") <= 1 for kind in kinds)
    events = [event for turn in turns for event in turn]

    def told(events):
        return [(e.event, e.step) for e in events if isinstance(e, PlanEvent | StepEvent | EvaluationEvent)]

    assert told(events) == told(whole)


def test_a_pause_does_nothing_and_a_stop_out_of_it_keeps_the_best(repository, data_folder, tiny_base, cpu):
    session = Session(SessionPlan(repository, data_folder, OPTIONS.changed(steps=500), tiny_base.id), cpu)
    while session.trainer.step < 3:
        session.advance()
    session.pause()
    assert [event for _ in range(3) for event in session.advance() if event.event != "note"] == []
    assert session.trainer.step == 3
    session.stop()
    events = ran(session)
    finished = next(e for e in events if isinstance(e, FinishedEvent))
    assert finished.reason == "stopped" and finished.step == 3 and isinstance(events[-1], CheckpointEvent)


def test_epochs_become_steps(repository, data_folder, tiny_base, cpu):
    steps = {}
    for epochs, most in ((1, 0), (2, 0), (50, 12)):
        options = OPTIONS.changed(epochs=epochs, steps=most)
        session = Session(SessionPlan(repository, data_folder, options, tiny_base.id), cpu)
        (plan,) = session.advance()
        steps[epochs] = plan.steps
        if epochs == 1:
            while session._windows.progress < 1.0:
                session._windows.take()
            assert session._windows.delivered / OPTIONS.batch_size == pytest.approx(plan.steps, rel=0.1)
        session.close()
    assert steps[2] == pytest.approx(2 * steps[1], abs=1) and steps[50] == 12


def test_a_corpus_that_was_read_before_is_taken_if_it_has_the_right_tokens(
    repository, data_folder, tiny_base, cpu, monkeypatch
):
    store = CheckpointStore(data_folder / "checkpoints")
    tokenizer = Tokenizer.load(store.tokenizer_path(tiny_base.id))
    corpus = Repository(repository, data_folder, tokenizer).scan()
    other = Repository(repository, data_folder, Tokenizer.train(["x = 1\n" * 99], 280)).scan()
    scans = []
    plain = Repository.scan
    monkeypatch.setattr(Repository, "scan", lambda *arguments: scans.append(1) or plain(*arguments))
    plan = SessionPlan(repository, data_folder, OPTIONS, tiny_base.id)
    for given, read in ((corpus, 0), (other, 1), (None, 2)):
        session = Session(plan, cpu, corpus=given)
        assert len(scans) == read and session.corpus.tokenizer.digest == tokenizer.digest
        session.close()


def test_a_failure_while_preparing_leaves_nothing(repository, data_folder, tiny_base, cpu, monkeypatch):
    def fail(*arguments, **more):
        raise RuntimeError("no")

    monkeypatch.setattr(session_module, "Results", fail)
    with pytest.raises(RuntimeError):
        Session(SessionPlan(repository, data_folder, OPTIONS, tiny_base.id), cpu)
    assert cpu.ledger.total == 0


def test_a_folder_with_a_name_that_no_checkpoint_may_have(repository, data_folder, tiny_base, cpu):
    odd = repository.rename(repository.parent / ("con. " + "x" * 200))
    saved = ran(Session(SessionPlan(odd, data_folder, OPTIONS, tiny_base.id), cpu))[-1]
    assert saved.name == "repository #1"


def test_numbers_of_names_go_on(repository, data_folder, tiny_base, cpu):
    plan = SessionPlan(repository, data_folder, OPTIONS, tiny_base.id)
    names = [ran(Session(plan, cpu))[-1].name for _ in range(2)]
    store = CheckpointStore(data_folder / "checkpoints")
    store.delete(store.get("shop #1").id)
    assert [*names, ran(Session(plan, cpu))[-1].name] == ["shop #1", "shop #2", "shop #3"]


def test_the_step_that_is_kept_is_never_chosen_by_files_that_score(
    repository, data_folder, tiny_base, cpu, monkeypatch
):
    for number in range(40):
        (repository / f"about_{number}.md").write_text(f"# {number * 7919}\n\n" + f"Words, {number}.\n" * number)
    plain, measured = session_module.measured_windows, []
    monkeypatch.setattr(
        session_module, "measured_windows", lambda *given: measured.append({d.path for d in given[1]}) or plain(*given)
    )
    session = Session(SessionPlan(repository, data_folder, OPTIONS, tiny_base.id), cpu)
    session.close()
    scoring = {document.path for document in session.corpus.scoring_documents}
    validation = {document.path for document in session.corpus.validation_documents}
    assert scoring and not scoring & validation
    assert measured == [{path for path in validation if path.endswith(".py")}]
    assert measured[0] < validation, "prose is held out as well, and does not choose the step"
