"""A base without fill-in-the-middle learns it on tokens that nothing uses, and uses it only if a trial says so."""

from __future__ import annotations

import numpy as np
import pytest

from engine.checkpoints.store.loading import load_checkpoint
from engine.checkpoints.store.store import CheckpointStore
from engine.corpus.repository import Repository
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.generate.completer import Completer, CompletionRequest
from engine.generate.options import Stops
from engine.model.architectures.reading import config_from
from engine.session import Session, SessionPlan, resume_session
from engine.session import session as session_module
from engine.session.fim_teaching import WITHOUT
from engine.session.fim_trial import FimTrial, FimVerdict
from engine.train.events import CheckpointEvent, FinishedEvent, NoteEvent, StepEvent
from tests.corpus.tokens import samples
from tests.corpus.tokens.test_taught_fim import SMOLLM
from tests.session.small_repository import OPTIONS, save_base

BETTER, WORSE = FimVerdict(40, 2.0, 1.8, 0.05), FimVerdict(40, 2.0, 1.99, 0.05)
FIM = OPTIONS.changed(mode="lora", rank=2, sequence_length=64, fim_share=0.5)
DENSE = {"model_type": "llama", "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
DENSE |= {"intermediate_size": 24, "tie_word_embeddings": True}
TABLE = "model.embed_tokens.weight"


@pytest.fixture
def teachable(repository, data_folder, tmp_path):
    """A tiny dense base with the control tokens of SmolLM2, all of them with the same row."""
    data_folder.mkdir(exist_ok=True)
    tokenizer = Tokenizer.load(samples.write_style(tmp_path, SMOLLM))
    config = config_from(DENSE | {"vocab_size": tokenizer.vocab_size})
    return save_base(data_folder, tokenizer, "teachable", config=config)


@pytest.fixture
def store(data_folder):
    return CheckpointStore(data_folder / "checkpoints")


@pytest.fixture
def judged(monkeypatch):
    """Sets what trials find."""
    return lambda verdict: monkeypatch.setattr(FimTrial, "verdict", lambda self: verdict)


@pytest.fixture
def run(repository, data_folder, cpu, store):
    """A whole run from a base: its events, and its result."""

    def run(base, options=FIM, **more):
        session = Session(SessionPlan(repository, data_folder, options, base.id, **more), cpu)
        try:
            events = list(session.run())
        finally:
            session.close()
        assert isinstance(events[-1], CheckpointEvent), events[-1]
        return events, store.get(events[-1].checkpoint)

    return run


def tokenizer_of(store, manifest) -> Tokenizer:
    return Tokenizer.load(store.tokenizer_path(manifest.id))


def notes(events) -> list[str]:
    return [event.text for event in events if isinstance(event, NoteEvent) and "middle" in event.text]


@pytest.mark.parametrize("mode", ["lora", "qk", "vocabulary", "full"])
def test_every_mode_trains_the_rows_and_the_result_has_the_roles(mode, teachable, run, store, judged):
    judged(BETTER)
    events, result = run(teachable, FIM.changed(mode=mode))
    taught, base = tokenizer_of(store, result), tokenizer_of(store, teachable)
    assert taught.has_taught_fim and not base.has_fim and taught.digest == base.digest
    assert result.data["fill_in_the_middle"] == {
        "used": True,
        "tokens": "<gh_stars> <issue_start> <issue_comment>",
        "lines": 40,
        "loss_without_text_after": 2.0,
        "loss_with_text_after": 1.8,
        "standard_error": 0.05,
    }
    assert notes(events) == [BETTER.words]
    assert [event.event for event in events[-3:]] == ["note", "finished", "checkpoint"]
    before, after = (np.array(store.load_parameters(each.id)[TABLE]) for each in (teachable, result))
    moved = set(np.flatnonzero((before != after).any(axis=1)).tolist())
    assert set(taught.special.fim) <= moved
    if mode in ("lora", "qk"):
        assert moved == set(taught.special.fim)
    assert store.verify(result.id) == []


def test_a_result_that_is_not_better_with_it_has_no_roles_and_says_why(teachable, run, store, judged):
    judged(WORSE)
    events, result = run(teachable)
    assert store.tokenizer_path(result.id) == store.tokenizer_path(teachable.id)
    facts = result.data["fill_in_the_middle"]
    assert facts["used"] is False and facts["loss_with_text_after"] == 1.99
    assert notes(events) == [f"{WORSE.words} {WITHOUT}"]
    card = (store.folder_of(result.id) / "card.md").read_text()
    assert "1.99" in card and "used | False" in card.replace("\\", "")


def test_without_rearranged_files_nothing_is_taught(teachable, run, store, judged):
    judged(BETTER)
    events, result = run(teachable, FIM.changed(fim_share=0.0))
    assert not tokenizer_of(store, result).has_fim and "fill_in_the_middle" not in result.data and not notes(events)
    before, after = (np.array(store.load_parameters(each.id)[TABLE]) for each in (teachable, result))
    assert np.array_equal(before, after)


def test_a_base_that_knows_it_is_left_as_it_is(tiny_base, run, store, judged):
    judged(WORSE)
    events, result = run(tiny_base)
    assert tokenizer_of(store, result).has_fim and "fill_in_the_middle" not in result.data and not notes(events)


def test_batches_hold_rearranged_documents_and_rows_differ_before_the_first_step(
    teachable, repository, data_folder, cpu
):
    session = Session(SessionPlan(repository, data_folder, FIM, teachable.id), cpu)
    try:
        prefix, suffix, middle = Tokenizer.with_taught_fim(session.corpus.tokenizer).special.fim
        tokens = np.concatenate([session._windows.take().tokens.reshape(-1) for _ in range(20)])
        assert all((tokens == number).sum() >= 5 for number in (prefix, suffix, middle))
        rows = session.model.parameters[TABLE][[prefix, suffix, middle]]
        assert len(np.unique(rows, axis=0)) == 3
        assert not session.corpus.tokenizer.has_fim  # what completes during the run does not fill in
    finally:
        session.close()


def test_the_completer_fills_in_with_the_result_and_not_with_the_base(teachable, run, store, judged, cpu):
    judged(BETTER)
    _, result = run(teachable)
    used = {}
    for each in (teachable, result):
        model, tokenizer = load_checkpoint(store, each.id, cpu)
        completer = Completer(model, tokenizer)
        request = CompletionRequest("x = 1\ny", "\nz = 3\n", stops=Stops(max_tokens=2))
        used[each.id] = completer.complete(request).fim_used
        completer.close()
        model.close()
    assert used == {teachable.id: False, result.id: True}


@pytest.mark.parametrize("mode", ["lora", "vocabulary"])
def test_a_run_that_was_interrupted_teaches_on(
    mode, teachable, run, repository, data_folder, store, judged, cpu, monkeypatch
):
    judged(BETTER)
    monkeypatch.setattr(session_module, "SAVE_SECONDS", 1e9)
    options = FIM.changed(mode=mode)
    whole, expected = run(teachable, options)
    session = Session(SessionPlan(repository, data_folder, options, teachable.id), cpu)
    while session.trainer.step < 3:
        session.advance()
    session.save_progress()
    session.close()
    again = resume_session(session.run_id, data_folder, lambda: cpu)
    events = list(again.run())
    again.close()
    losses = {e.step: e.loss for e in whole if isinstance(e, StepEvent)}
    assert {e.step: e.loss for e in events if isinstance(e, StepEvent)} == {step: losses[step] for step in (4, 5, 6)}
    result = store.get(events[-1].checkpoint)
    assert tokenizer_of(store, result).special == tokenizer_of(store, expected).special
    a, b = (store.load_parameters(each.id) for each in (expected, result))
    assert all(np.array_equal(a[name], b[name]) for name in a)


def test_a_run_saved_during_the_trial_is_tried_again(teachable, repository, data_folder, store, judged, cpu):
    judged(BETTER)
    session = Session(SessionPlan(repository, data_folder, FIM, teachable.id), cpu)
    events = []
    while session._ended is None:
        events += session.advance()
    assert not session.finished and not any(isinstance(event, FinishedEvent) for event in events)
    session.save_progress()
    session.close()
    again = resume_session(session.run_id, data_folder, lambda: cpu)
    events = list(again.run())
    again.close()
    assert not any(isinstance(event, StepEvent) for event in events)
    assert tokenizer_of(store, store.get(events[-1].checkpoint)).has_taught_fim


def test_a_stopped_run_is_not_tried_and_does_not_fill_in(teachable, repository, data_folder, store, judged, cpu):
    judged(BETTER)
    session = Session(SessionPlan(repository, data_folder, FIM.changed(steps=500), teachable.id), cpu)
    while session.trainer.step < 4:
        session.advance()
    session.stop()
    events = list(session.run())
    session.close()
    result = store.get(events[-1].checkpoint)
    assert not tokenizer_of(store, result).has_fim
    assert result.data["fill_in_the_middle"]["reason"] == "not measured"
    assert [WITHOUT in note for note in notes(events)] == [True]


def test_a_pause_holds_the_trial(teachable, repository, data_folder, judged, cpu):
    judged(BETTER)
    session = Session(SessionPlan(repository, data_folder, FIM, teachable.id), cpu)
    while session._ended is None:
        session.advance()
    session.pause()
    for _ in range(40):
        session.advance()
    assert not session.finished
    session.resume()
    assert isinstance(list(session.run())[-1], CheckpointEvent)
    session.close()


def test_snapshots_have_not_been_tried_and_do_not_fill_in(teachable, run, store, judged):
    judged(BETTER)
    run(teachable, timeline=3)
    snapshots = [manifest for manifest in store.list() if manifest.is_snapshot]
    assert snapshots and not any(tokenizer_of(store, manifest).has_fim for manifest in snapshots)


@pytest.mark.parametrize(
    ("mode", "share", "second"),
    [
        ("lora", 0.5, BETTER),
        ("lora", 0.5, WORSE),
        ("lora", 0.0, BETTER),
        ("vocabulary", 0.0, WORSE),
        ("qk", 0.5, BETTER),
    ],
)
def test_a_further_run_is_tried_again_and_keeps_the_rows(mode, share, second, teachable, run, store, judged):
    judged(BETTER)
    _, first = run(teachable)
    judged(second)
    _, result = run(first, FIM.changed(mode=mode, seed=3, fim_share=share))
    assert tokenizer_of(store, result).has_taught_fim == second.helps
    assert result.data["fill_in_the_middle"]["used"] == second.helps
    assert result.base.id == teachable.id and store.verify(result.id) == []
    ids = list(tokenizer_of(store, first).special.fim)
    before, after = (np.array(store.load_parameters(each.id)[TABLE][ids]) for each in (first, result))
    assert np.array_equal(before, after) == (share == 0.0)  # without rearranged files they stay as they are
    assert np.abs(before - after).max() < 0.2  # and nothing is begun again


def test_what_was_not_good_enough_is_taught_on(teachable, run, store, judged, repository, data_folder, cpu):
    judged(WORSE)
    _, first = run(teachable)
    session = Session(SessionPlan(repository, data_folder, FIM, first.id), cpu)
    ids = session._fim.ids
    now = session.model.parameters[TABLE][ids]
    session.close()
    assert np.array_equal(now, store.load_parameters(first.id)[TABLE][ids])  # no new noise on trained rows


def test_a_corpus_that_was_read_for_the_base_serves_what_was_taught(
    teachable, run, store, judged, repository, data_folder, cpu
):
    """The tokens of text are the same; the roles are those of the checkpoint that a run starts from."""
    judged(BETTER)
    _, result = run(teachable)
    plain, taught = tokenizer_of(store, teachable), tokenizer_of(store, result)
    for read, base in ((plain, result), (taught, teachable)):
        corpus = Repository(repository, data_folder, read).scan()
        session = Session(SessionPlan(repository, data_folder, FIM, base.id), cpu, corpus=corpus)
        assert session.corpus.tokenizer.has_fim == (base is result)
        assert session.corpus.learned_documents is corpus.learned_documents
        session.close()
    assert len(list((data_folder / "tokens").iterdir())) == 1
