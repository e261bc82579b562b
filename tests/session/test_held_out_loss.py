"""One held-out loss: that of given weights is what a run measures at its first evaluation."""

import pytest

from engine.checkpoints.store.store import CheckpointStore
from engine.corpus.reading.scan_progress import ScanCancelledError
from engine.errors import CorpusError
from engine.session import Session, SessionPlan
from engine.session.held_out_loss import HeldOutLoss
from engine.train.events import EvaluationEvent
from engine.train.options import TrainingOptions
from tests.session.small_repository import OPTIONS


def test_it_is_the_number_that_a_run_begins_with(repository, data_folder, tiny_base, cpu):
    options = OPTIONS.changed(sequence_length=TrainingOptions().sequence_length)
    session = Session(SessionPlan(repository, data_folder, options, tiny_base.id), cpu)
    first = next(event for event in session.run() if isinstance(event, EvaluationEvent))
    session.close()
    store, told = CheckpointStore(data_folder / "checkpoints"), []
    with HeldOutLoss(
        store, tiny_base.id, repository, data_folder, cpu, lambda done, total, words: told.append(words)
    ) as measure:
        assert measure(store.load_parameters(tiny_base.id)) == pytest.approx(first.held_out_loss, rel=1e-6)
        assert measure(store.load_parameters(tiny_base.id)) == pytest.approx(first.held_out_loss, rel=1e-6)
    assert told[-1] == "Measuring held-out code" and cpu.ledger.total == 0


def test_it_can_be_cancelled(repository, data_folder, tiny_base, cpu):
    store, asked = CheckpointStore(data_folder / "checkpoints"), []
    more = (lambda *progress: None, lambda: bool(asked))
    with (
        HeldOutLoss(store, tiny_base.id, repository, data_folder, cpu, *more) as measure,
        pytest.raises(ScanCancelledError),
    ):
        asked.append(1)
        measure(store.load_parameters(tiny_base.id))
    assert cpu.ledger.total == 0


def test_a_folder_without_code_is_refused_by_name(tmp_path, data_folder, tiny_base, cpu):
    (tmp_path / "empty").mkdir()
    store = CheckpointStore(data_folder / "checkpoints")
    with pytest.raises(CorpusError, match="empty"):
        HeldOutLoss(store, tiny_base.id, tmp_path / "empty", data_folder, cpu)
    assert cpu.ledger.total == 0
