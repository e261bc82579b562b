"""The base of an unfinished run cannot be deleted by mistake, and simultaneous first runs share one base."""

from __future__ import annotations

import threading

import pytest

from engine.checkpoints.formats.exporting import export_checkpoint
from engine.checkpoints.store.contents import Retention
from engine.checkpoints.store.store import CheckpointStore
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.errors import CheckpointError
from engine.session import Session, SessionPlan, bases, resume_session
from tests.session.small_repository import OPTIONS, save_base


@pytest.fixture
def store(data_folder):
    return CheckpointStore(data_folder / "checkpoints")


@pytest.fixture
def tokenizer(repository):
    return Tokenizer.train([path.read_text() for path in sorted(repository.glob("*.py"))], 320)


@pytest.fixture
def base(data_folder, tokenizer):
    data_folder.mkdir(exist_ok=True)
    return save_base(data_folder, tokenizer, "tiny")


def opened(repository, data_folder, device):
    return Session(SessionPlan(repository, data_folder, OPTIONS, "tiny"), device)


def test_the_base_of_a_running_run_is_needed_from_the_start(repository, data_folder, store, base, cpu):
    session = opened(repository, data_folder, cpu)
    try:
        with pytest.raises(CheckpointError, match=session.run_id):
            store.delete("tiny")
        store.gc()  # which removes what killed programs left, and not this mark
        with pytest.raises(CheckpointError, match=session.run_id):
            store.delete("tiny")
    finally:
        session.close()
    store.delete("tiny")


def test_the_base_of_an_interrupted_run_is_needed(repository, data_folder, store, base, cpu):
    session = opened(repository, data_folder, cpu)
    session.advance()
    session.save_progress()
    session.close()
    with pytest.raises(CheckpointError, match=session.run_id):
        store.delete("tiny")
    store.delete("tiny", force=True)
    assert store.empty_trash() == 0, "the run would be lost"
    store.restore("tiny")
    session = resume_session(session.run_id, data_folder, lambda: cpu)
    session.stop()
    assert [event.step for event in session.run()]
    session.close()
    assert "tiny" not in [moved.name for moved in store.apply_retention(Retention(0, 0))]


def test_retention_keeps_what_an_interrupted_run_needs(repository, data_folder, store, base, cpu):
    manifest = store.get("tiny")
    path = store.folder / manifest.id / "manifest.json"
    path.write_text(path.read_text().replace('"run": ""', '"run": "earlier"'))
    session = opened(repository, data_folder, cpu)
    session.save_progress()
    session.close()
    assert store.apply_retention(Retention(0, 0)) == []


def test_a_damaged_run_file_needs_nothing(data_folder, store, base):
    (data_folder / "runs").mkdir()
    (data_folder / "runs" / "abc.safetensors").write_bytes(b"not a run")
    store.delete("tiny")


def test_two_first_runs_at_once_have_one_starter(repository, data_folder, store, tmp_path, tokenizer, monkeypatch):
    model = tmp_path / "shipped"
    other = CheckpointStore(tmp_path / "other" / "checkpoints")
    (tmp_path / "other").mkdir()
    save_base(tmp_path / "other", tokenizer, "tiny")
    export_checkpoint(other, "tiny", "hf", model)
    monkeypatch.setattr(bases, "starter_folder", lambda: model)
    together, save = threading.Barrier(2), CheckpointStore.save

    def save_together(self, *arguments, **more):
        together.wait()  # both have looked, and neither found one
        return save(self, *arguments, **more)

    monkeypatch.setattr(CheckpointStore, "save", save_together)
    found = []
    threads = [threading.Thread(target=lambda: found.append(bases.find_base(store, ""))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [one.name for one in store.list()] == ["starter"]
    assert {one.id for one in found} == {store.list()[0].id}
    assert store.disk_use().leftovers == 0
