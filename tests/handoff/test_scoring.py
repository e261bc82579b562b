"""A result that is taken back is scored as after a run here: on what its run had not seen, even if files changed."""

from __future__ import annotations

import dataclasses

import pytest

from engine.checkpoints.store.loading import opened_checkpoint
from engine.checkpoints.store.store import CheckpointStore
from engine.corpus.repository import Repository
from engine.errors import CorpusError
from engine.handoff import HandoffPlan, hand_off, import_any, is_scored, score_result
from engine.handoff.record import Record
from engine.handoff.scoring import as_handed_off
from engine.scorecard import ScoreOptions, Subject, held_out_material, kept_measures, score
from engine.scorecard.token_measures import ScoreCancelledError
from engine.session.bases import tokenizer_of
from tests.handoff.other_machine import trained_elsewhere
from tests.handoff.test_whole_way import run_here
from tests.session.small_repository import OPTIONS

FEW = ScoreOptions(cursors=2, characters=1_000)
ROWS = OPTIONS.changed(mode="wsla")


@pytest.fixture
def store(data_folder):
    return CheckpointStore(data_folder / "checkpoints")


@pytest.fixture
def imported(repository, data_folder, tiny_base, cpu, tmp_path, store):
    done = hand_off(HandoffPlan(repository, data_folder, ROWS, "tiny"), tmp_path / "out")
    return import_any(store, data_folder, trained_elsewhere(done.path, cpu))


@pytest.fixture
def opened(store, cpu):
    return lambda which: opened_checkpoint(store, which, cpu)


@pytest.fixture
def corpus(repository, data_folder, store, tiny_base):
    """The folder as it is now."""
    return lambda: Repository(repository, data_folder, tokenizer_of(store, tiny_base)).scan()


def test_its_scorecard_is_that_of_the_run_that_would_have_been_here(
    repository, data_folder, cpu, store, imported, opened, corpus
):
    before, after = score_result(store, imported, data_folder, opened, options=FEW)
    ours, _ = run_here(repository, data_folder, cpu, ROWS, "tiny")
    material = held_out_material(corpus(), FEW.cursors, FEW.seed, FEW.characters)
    cards = []
    for id in (*ours.parents, ours.id):
        with opened(id) as (model, tokenizer):
            cards.append(score(Subject(id, model, tokenizer), material, FEW))
    kept = store.get(imported.id)
    assert not is_scored(imported) and is_scored(kept)
    assert kept_measures(before, after) == kept_measures(*cards)
    assert kept.metrics == imported.metrics | kept_measures(*cards)
    assert kept.metrics["score_loss"] < kept.metrics["score_loss_before"]
    assert "score_next_line_exact" in kept.metrics and not any("second" in name for name in kept_measures(*cards))
    assert (before.name, after.name) == ("tiny", "shop #1") and before.cursors == FEW.cursors


def test_what_is_held_out_is_what_was_then(data_folder, imported, corpus):
    """Today's split may hold out what the run has learned, and learn what it was measured on."""
    now, record = corpus(), Record.load(data_folder, imported.run)
    learned = now.learned_documents
    turned = dataclasses.replace(
        now, learned_documents=now.held_out_documents, validation_documents=learned[:3], scoring_documents=learned[3:]
    )
    assert as_handed_off(turned, record).scoring_documents == now.scoring_documents
    assert as_handed_off(turned, record).validation_documents == now.validation_documents
    assert as_handed_off(turned, record).learned_documents == learned


def test_files_that_changed_are_not_scored(repository, data_folder, imported, corpus):
    now, record = corpus(), Record.load(data_folder, imported.run)
    for document in now.learned_documents:
        (repository / document.path).write_text((repository / document.path).read_text() + "# changed\n")
    assert [each.path for each in as_handed_off(corpus(), record).scoring_documents] == [
        each.path for each in now.scoring_documents
    ]
    for document in now.scoring_documents:
        (repository / document.path).write_text((repository / document.path).read_text() + "# changed\n")
    with pytest.raises(
        CorpusError, match=r"has changed too much since: of \d files that were reserved for scores, 0 are still"
    ):
        as_handed_off(corpus(), record)


def test_a_folder_that_is_gone_is_said_to_be(repository, data_folder, store, imported, opened):
    repository.rename(repository.with_name("moved"))
    with pytest.raises(CorpusError, match="shop is not there any more"):
        score_result(store, imported, data_folder, opened, options=FEW)
    assert store.get(imported.id) == imported


def test_a_folder_that_was_read_before_is_not_read_again(data_folder, store, imported, opened, corpus, monkeypatch):
    known = corpus()
    monkeypatch.setattr(Repository, "scan", lambda *arguments: pytest.fail("read again"))
    assert score_result(store, imported, data_folder, opened, known=known, options=FEW)


def test_when_it_is_cancelled_nothing_is_kept(data_folder, store, imported, opened, corpus):
    said = []
    more = {"known": corpus(), "options": FEW, "progress": lambda *far: said.append(far)}
    with pytest.raises(ScoreCancelledError):
        score_result(store, imported, data_folder, opened, cancelled=lambda: len(said) > 1, **more)
    assert said[0][2].startswith("tiny: ") and store.get(imported.id) == imported
