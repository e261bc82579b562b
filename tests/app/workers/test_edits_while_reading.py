"""Files that are edited while the folder is still being read."""

from __future__ import annotations

import threading

from app.workers.repository import RepositoryWorker
from app.workers.watching import Gathering


def test_what_is_edited_while_the_folder_is_read_is_noticed(program, repository, monkeypatch):

    plain = RepositoryWorker._first_reading

    def reading(worker):
        corpus = plain(worker)
        (repository / "meanwhile.py").write_text("def meanwhile():\n    return 1\n")
        return corpus

    monkeypatch.setattr(RepositoryWorker, "_first_reading", reading)
    one = program()
    one.open(repository)
    one.until(lambda: any(row.path == "meanwhile.py" for row in one.state.repository.corpus.files))


def test_an_edit_does_not_begin_a_reading_that_was_stopped(program, repository, monkeypatch):
    from engine.corpus.reading.scan_progress import ScanCancelledError

    begun = []

    def reading(worker):
        begun.append(1)
        (repository / "meanwhile.py").write_text("def meanwhile():\n    return 1\n")
        while not worker._flag.is_raised():
            threading.Event().wait(0.01)
        raise ScanCancelledError

    plain, taken = Gathering.take, []
    monkeypatch.setattr(Gathering, "take", lambda self: taken.append(True) or plain(self))
    monkeypatch.setattr(RepositoryWorker, "_first_reading", reading)
    one = program()
    controller = one.state.repository
    controller.open(repository)
    one.until(lambda: begun)
    controller.cancel()
    one.until(lambda: controller.phase == "failed" and taken)
    one.ask_worker(RepositoryWorker, lambda worker: None)  # by then it has done what the edit made it do
    assert len(begun) == 1 and controller.phase == "failed"
