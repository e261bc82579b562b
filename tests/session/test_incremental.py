"""Learning what changed: the files are found, known ones skipped, old code mixed in, nothing forgotten."""

import numpy as np
import pytest

from engine.checkpoints.store.store import CheckpointStore
from engine.corpus.batches.framing import Framing
from engine.corpus.batches.split import place_of
from engine.corpus.repository import Repository
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.errors import CorpusError
from engine.session import Session, SessionPlan, changed_since
from engine.session import changed_file_selection as changed_file_selection
from engine.session.batches import MixedWindows, file_losses, training_windows
from engine.train import options as training_options
from engine.train.events import CheckpointEvent, EvaluationEvent, FinishedEvent, NoteEvent, PlanEvent
from engine.train.options import RATES
from tests.session.small_repository import OPTIONS, write_file

NEW_CODE = "".join(f"class Shelf{i}(Box):\n    depth = {i}\n    label = 'shelf {i}'\n\n\n" for i in range(40))


def ran(session):
    try:
        return list(session.run())
    finally:
        session.close()


def only(events, kind):
    (event,) = [event for event in events if isinstance(event, kind)]
    return event


def corpus_of(repository, data_folder, manifest):
    store = CheckpointStore(data_folder / "checkpoints")
    tokenizer = Tokenizer.load(store.tokenizer_path(manifest.id))
    return Repository(repository, data_folder, tokenizer).scan()


@pytest.fixture
def learned(repository, data_folder, tiny_base, cpu):
    """A checkpoint that has learned the repository a little."""
    options = OPTIONS.changed(steps=60, learning_rate=2e-2)
    events = ran(Session(SessionPlan(repository, data_folder, options, tiny_base.id), cpu))
    return CheckpointStore(data_folder / "checkpoints").get(events[-1].checkpoint)


def test_what_changed_is_found_by_content(repository, data_folder, learned):
    assert changed_since(learned, corpus_of(repository, data_folder, learned)) == []
    write_file(repository, "profit")
    (repository / "age.py").write_text((repository / "age.py").read_text() + "\nLAST = 1\n")
    (repository / "tax.py").rename(repository / "duty.py")
    (repository / "cost.py").unlink()
    (repository / "size.py").write_text((repository / "size.py").read_text())  # touched, not changed
    found = changed_since(learned, corpus_of(repository, data_folder, learned))
    assert found == ["age.py", "duty.py", "profit.py"]
    assert "age" not in str(learned.data["seen"])


def test_a_checkpoint_that_has_seen_no_file_finds_all_changed(repository, data_folder, tiny_base):
    corpus = corpus_of(repository, data_folder, tiny_base)
    assert len(changed_since(tiny_base, corpus)) == 9


def test_changed_files_are_learned_and_the_rest_is_not_forgotten(repository, data_folder, learned, cpu):
    (repository / "shelf.py").write_text(NEW_CODE)
    held_out = {d.path for d in corpus_of(repository, data_folder, learned).held_out_documents}
    assert "shelf.py" not in held_out
    # One file judges the run, so more of the old code is mixed in than usual.
    options = OPTIONS.changed(steps=40, batch_size=4, learning_rate=5e-3, evaluations=20, replay_share=0.7)
    plan = SessionPlan(repository, data_folder, options, changed_since=learned.name)
    events = ran(Session(plan, cpu))
    plan, finished, saved = only(events, PlanEvent), only(events, FinishedEvent), only(events, CheckpointEvent)
    assert plan.base == learned.name and plan.changed_files == finished.changed_files == 1
    assert finished.changed_after < 0.8 * finished.changed_before
    assert finished.held_out_after <= finished.held_out_before  # the rest
    assert all(e.changed_loss is not None for e in events if isinstance(e, EvaluationEvent))
    manifest = CheckpointStore(data_folder / "checkpoints").get(saved.checkpoint)
    assert manifest.metrics["changed_loss"] == pytest.approx(finished.changed_after)
    assert changed_since(manifest, corpus_of(repository, data_folder, learned)) == []


def test_changes_are_learned_gently_unless_a_rate_is_given(repository, data_folder, learned, cpu):
    (repository / "shelf.py").write_text(NEW_CODE)
    usual = RATES[OPTIONS.mode]
    for given, since, expected in ((0.0, learned.name, 0.1 * usual), (0.0, "", usual), (3e-3, learned.name, 3e-3)):
        options = OPTIONS.changed(learning_rate=given)
        session = Session(SessionPlan(repository, data_folder, options, learned.id, changed_since=since), cpu)
        session.close()
        assert session.options.peak_rate == pytest.approx(expected)


def test_a_larger_base_is_trained_at_a_lower_rate(repository, data_folder, tiny_base, cpu, monkeypatch):
    session = Session(SessionPlan(repository, data_folder, OPTIONS.changed(learning_rate=0.0), tiny_base.id), cpu)
    weights = session.model.config.parameter_count
    session.close()
    monkeypatch.setattr(training_options, "TUNED_WEIGHTS", weights / 16)
    session = Session(SessionPlan(repository, data_folder, OPTIONS.changed(learning_rate=0.0), tiny_base.id), cpu)
    session.close()
    assert session.options.learning_rate == pytest.approx(OPTIONS.changed(learning_rate=0.0).peak_rate_for(weights))
    assert session.options.learning_rate < RATES[OPTIONS.mode] / 2


def test_a_run_that_would_forget_the_rest_is_rolled_back(repository, data_folder, learned, cpu):
    """Without replay and at a high rate the changed file is learned at the cost of everything else."""
    (repository / "shelf.py").write_text(NEW_CODE)
    options = OPTIONS.changed(steps=10, batch_size=4, learning_rate=0.1, replay_share=0.0, warm_up=0)
    events = ran(Session(SessionPlan(repository, data_folder, options, changed_since=learned.id), cpu))
    measured = [e for e in events if isinstance(e, EvaluationEvent)]
    assert measured[-1].changed_loss < measured[0].changed_loss  # learned
    assert measured[-1].held_out_loss > measured[0].held_out_loss  # and forgotten
    finished = only(events, FinishedEvent)
    assert finished.rolled_back and finished.held_out_after == finished.held_out_before
    assert not any(isinstance(e, CheckpointEvent) for e in events)


def test_files_that_are_predicted_well_are_skipped(repository, data_folder, learned, cpu):
    (repository / "shelf.py").write_text(NEW_CODE)
    corpus = corpus_of(repository, data_folder, learned)
    familiar = next(d for d in corpus.learned_documents if d.path != "shelf.py")
    new = next(d for d in corpus.learned_documents if d.path == "shelf.py")
    options = OPTIONS.changed(steps=4)
    session = Session(SessionPlan(repository, data_folder, options, learned.id), cpu)
    losses = file_losses(session.model, corpus, [familiar, new], 32)
    held_out = next(event for event in session.run() if isinstance(event, EvaluationEvent)).held_out_loss
    session.close()
    between = (losses[familiar.path] + losses[new.path]) / 2 / held_out
    plan = SessionPlan(
        repository, data_folder, options.changed(skip_below=min(1.0, between)), learned.id, (familiar.path, new.path)
    )
    events = ran(Session(plan, cpu))
    plan = only(events, PlanEvent)
    assert (plan.changed_files, plan.skipped_files) == (1, 1)
    assert "1 of 2 changed files" in events[0].text


@pytest.fixture
def with_noise(repository):
    """Prose and tables beside the code that nobody could predict; some of it is held out."""
    random = np.random.default_rng(0)
    names = [name for i in range(400) if place_of(name := f"words_{i}.{('md', 'json')[i % 2]}") < 0.1]
    for name in names[:12]:
        (repository / name).write_bytes(random.integers(33, 126, 3000, dtype=np.uint8).tobytes().replace(b"#", b"\n"))


def test_new_code_is_held_against_held_out_code_alone(with_noise, repository, data_folder, learned, cpu):
    """A loss inflated by prose and data made every new function look known."""
    write_file(repository, "profit")
    corpus = corpus_of(repository, data_folder, learned)
    noise = [d for d in corpus.validation_documents if not d.path.endswith(".py")]
    code = [d for d in corpus.validation_documents if d.path.endswith(".py")]
    assert noise and code
    session = Session(SessionPlan(repository, data_folder, OPTIONS, learned.id), cpu)
    try:
        new = next(d for d in corpus.learned_documents if d.path == "profit.py")
        losses = file_losses(session.model, corpus, [new, *noise, *code], OPTIONS.sequence_length)
        everything = sum(losses[d.path] * d.tokens for d in (*noise, *code)) / sum(d.tokens for d in (*noise, *code))
        assert losses["profit.py"] < OPTIONS.skip_below * everything, "as it was judged: nothing new to learn"
        found = changed_file_selection.select_changed(session.model, corpus, ["profit.py"], ["profit.py"], OPTIONS)
    finally:
        session.close()
    assert [d.path for d in found.learned] == ["profit.py"] and found.skipped == ()


def test_peers_are_of_the_kind_and_of_the_language_where_there_are_enough(repository, data_folder, learned):
    for number in range(120):
        (repository / f"part_{number}.js").write_text(f"const value_{number} = {number};\n" * (5 + number))
        (repository / f"about_{number}.md").write_text(f"# {number * 7919}\n\n" + "Some words.\n" * number)
    (repository / "alone.rs").write_text("fn alone() -> u32 {\n    1\n}\n" * 9)
    (repository / "alone.toml").write_text("name = 'alone'\n" * 9)
    corpus = corpus_of(repository, data_folder, learned)
    validation = {d.path for d in corpus.validation_documents}

    def peers(path, changed=()):
        document = next(d for d in (*corpus.learned_documents, *corpus.held_out_documents) if d.path == path)
        return {d.path for d in changed_file_selection._peers(document, corpus, changed)}

    javascript = {path for path in validation if path.endswith(".js")}
    assert len(javascript) > 2
    assert peers("part_0.js") == javascript
    assert peers("about_1.md") == {path for path in validation if path.endswith(".md")}
    assert peers("alone.rs") == {path for path in validation if path.endswith((".py", ".js"))}
    assert peers("alone.toml") == set(), "no held-out configuration: it is learned"
    first = min(javascript)
    assert peers("part_0.js", {first}) == javascript - {first}
    assert peers("part_0.js", javascript) >= {path for path in validation if path.endswith(".py")}


def test_nothing_new_ends_at_once_and_says_so(repository, data_folder, learned, cpu, monkeypatch):
    write_file(repository, "pace")
    path = corpus_of(repository, data_folder, learned).learned_documents[0].path
    monkeypatch.setattr(
        changed_file_selection,
        "file_losses",
        lambda model, corpus, docs, *more: {d.path: 0.1 if d.path == path else 2.0 for d in docs},
    )
    events = ran(Session(SessionPlan(repository, data_folder, OPTIONS, learned.id, (path,)), cpu))
    finished = only(events, FinishedEvent)
    assert finished.step == 0 and finished.reason == "nothing new to learn"
    assert (finished.changed_files, finished.skipped_files) == (0, 1)
    assert any("nothing new" in event.text for event in events if isinstance(event, NoteEvent))
    assert not any(isinstance(event, CheckpointEvent) for event in events)


def test_the_loss_of_a_file_is_that_of_its_tokens(repository, data_folder, learned, cpu):
    """Windows of several files share batches: each file gets its own numbers."""
    corpus = corpus_of(repository, data_folder, learned)
    session = Session(SessionPlan(repository, data_folder, OPTIONS, learned.id), cpu)
    documents = corpus.learned_documents[:3]
    together = file_losses(session.model, corpus, documents, 500)
    framing = Framing(corpus.tokenizer)
    for document in documents:
        stream = framing.document(document.path, corpus.document_tokens(document))[:501]
        alone = session.model.losses(stream[None, :].astype(np.int32)).mean()
        if document.tokens < 480:  # one window
            assert together[document.path] == pytest.approx(alone, rel=1e-5)
        else:
            assert file_losses(session.model, corpus, [document], 500)[document.path] == pytest.approx(
                together[document.path], rel=1e-6
            )
    session.close()


def test_no_change_is_refused_in_words(repository, data_folder, learned, cpu):
    with pytest.raises(CorpusError, match="No changed file"):
        Session(SessionPlan(repository, data_folder, OPTIONS, changed_since=learned.id), cpu)
    assert cpu.ledger.total == 0


def test_files_that_were_not_asked_for_count_as_changed_still(repository, data_folder, learned, cpu):
    (repository / "shelf.py").write_text(NEW_CODE)
    (repository / "chair.py").write_text(NEW_CODE.replace("Shelf", "Chair").replace("depth", "legs"))
    options = OPTIONS.changed(steps=40, batch_size=4, learning_rate=5e-3, replay_share=0.7, skip_below=0.0)
    plan = SessionPlan(repository, data_folder, options, learned.id, changed=("shelf.py",))
    saved = only(ran(Session(plan, cpu)), CheckpointEvent)
    manifest = CheckpointStore(data_folder / "checkpoints").get(saved.checkpoint)
    assert changed_since(manifest, corpus_of(repository, data_folder, learned)) == ["chair.py"]


@pytest.mark.parametrize(("share", "batch"), [(0.5, 4), (0.5, 1), (0.25, 3), (0.9, 2)])
def test_old_code_is_mixed_in_by_its_share_and_resumes_exactly(share, batch, repository, data_folder, learned):
    corpus = corpus_of(repository, data_folder, learned)
    changed = [d for d in corpus.learned_documents if d.path in ("age.py", "tax.py", "price.py", "size.py")]
    options = OPTIONS.changed(batch_size=batch, replay_share=share, fim_share=0.0)
    windows, same = (training_windows(corpus, options, changed) for _ in range(2))
    assert isinstance(windows, MixedWindows)
    for _ in range(20):
        windows.take()
    state = windows.state()
    assert state["old"]["delivered"] == int(20 * batch * share)
    assert state["new"]["delivered"] + state["old"]["delivered"] == 20 * batch
    assert same.restore(state) == ""
    assert np.array_equal(same.take().tokens, windows.take().tokens)
