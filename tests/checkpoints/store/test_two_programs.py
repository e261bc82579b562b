"""Two programs save, change and delete in one store at once, while a third one looks: nothing is harmed."""

from __future__ import annotations

import multiprocessing
import os
import threading

import pytest

from engine.checkpoints.store import writing
from engine.checkpoints.store.store import CheckpointStore
from engine.checkpoints.store.writing import Disk, locked
from engine.errors import CheckpointError
from tests.checkpoints.store.busy_program import be_busy
from tests.checkpoints.store.samples import save_base

SECONDS = 4.0


def test_two_programs_do_not_harm_each_other(store):
    shared = save_base(store, "shared")
    context = multiprocessing.get_context("spawn")
    answers = [context.Queue() for _ in range(2)]
    programs = [
        context.Process(target=be_busy, args=(store.folder, number, SECONDS, answer))
        for number, answer in enumerate(answers)
    ]
    for program in programs:
        program.start()
    looked = 0
    while any(program.is_alive() for program in programs) and all(answer.empty() for answer in answers):
        assert store.unreadable() == []
        looked += 1
    results = [answer.get(timeout=600) for answer in answers]
    for program, answer in zip(programs, answers, strict=True):
        program.join()
        answer.close()
        answer.join_thread()
    (wrong, last_tag, done), (also_wrong, last_note, also_done) = results
    assert wrong == also_wrong == []
    assert min(done, also_done, looked) > 10
    after = store.get(shared.id)
    assert (after.tags, after.note) == ((last_tag,), last_note)  # neither lost what it wrote to the other
    assert store.unreadable() == []
    for manifest in store.list():
        findings = [finding.words for finding in store.verify(manifest.id)]
        assert findings == [] or (
            len(findings) == 1 and ("in the store" in findings[0] or "in the trash" in findings[0])
        )
    store.gc()
    assert os.listdir(store.folder / "work") == []


def test_threads_of_one_program_take_turns(store):
    save_base(store)
    wrong: list[BaseException] = []

    def annotate(number: int) -> None:
        try:
            for turn in range(20):
                CheckpointStore(store.folder).annotate(
                    "base", **({"note": str(turn)} if number else {"tags": [str(turn)]})
                )
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=annotate, args=(number,)) for number in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [] and (store.get("base").note, store.get("base").tags) == ("19", ("19",))


def test_a_lock_that_is_never_given_back_is_told_in_words(store, monkeypatch):
    save_base(store)
    monkeypatch.setattr(writing, "PATIENCE", 0.05)
    with locked(Disk(), store.folder / "lock"):
        with pytest.raises(CheckpointError, match="lock"):
            store.rename("base", "x")
        assert len(store.list()) == 1  # reading needs no lock
    store.rename("base", "x")
