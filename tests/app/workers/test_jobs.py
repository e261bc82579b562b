"""A job is done in the worker's thread, answered once in the GUI's, and ended where it looks."""

from __future__ import annotations

import threading

import pytest
from PySide6.QtCore import QThread

from app.workers.jobs import Jobs, JobWorker


class Worker(JobWorker):
    """Notes the threads that it runs in; `gate` holds a job until the test opens it."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: list[str] = []
        self.reached, self.gate = threading.Event(), threading.Event()

    def add(self, a: int, b: int) -> int:
        self.threads.append(threading.current_thread().name)
        self.report("adding")
        self.progress(1, 2, "Adding")
        return a + b

    def fail(self) -> None:
        raise ZeroDivisionError("on purpose")

    def wait(self) -> None:
        self.reached.set()
        assert self.gate.wait(60)
        self.job.look()


@pytest.fixture
def jobs(qapp, qtbot):
    jobs, worker, thread = Jobs(), Worker(), QThread()
    jobs.serve(worker)
    worker.moveToThread(thread)
    thread.start()
    jobs.worker, jobs.seen = worker, []
    jobs.until = qtbot.waitUntil
    yield jobs
    worker.gate.set()
    jobs.close()
    thread.quit()
    thread.wait()


def ask(jobs: Jobs, work, *arguments):
    """Ask with every callback noted, together with the thread that it was called in."""

    def note(name: str):
        return lambda *what: jobs.seen.append((name, *what, threading.current_thread() is threading.main_thread()))

    names = ("then", "failed", "cancelled", "progressed", "reported")
    return jobs.ask(work, *arguments, **{name: note(name) for name in names})


def test_the_answer_and_what_is_reported_arrive_in_the_gui_thread(jobs):
    ask(jobs, Worker.add, 2, 3)
    jobs.until(lambda: len(jobs.seen) == 3)
    assert jobs.seen == [("reported", "adding", True), ("progressed", 1, 2, "Adding", True), ("then", 5, True)]
    assert jobs.worker.threads != [threading.main_thread().name]


def test_a_failure_names_its_job(jobs, caplog):
    ask(jobs, Worker.fail)
    jobs.until(lambda: bool(jobs.seen))
    ((name, failure, _),) = jobs.seen
    assert name == "failed" and failure.job == "fail" and "ZeroDivisionError" in failure.details


def test_a_failure_that_nobody_expects_is_not_lost(jobs, caplog):
    lost = []
    jobs.failed.connect(lost.append)
    jobs.ask(Worker.fail)
    jobs.until(lambda: bool(lost))
    assert lost[0].job == "fail"


def test_a_job_that_runs_ends_where_it_looks_and_one_that_waits_is_over_at_once(jobs):
    running, waiting = ask(jobs, Worker.wait), ask(jobs, Worker.add, 1, 1)
    jobs.until(jobs.worker.reached.is_set)
    jobs.cancel(waiting)
    assert jobs.seen == [("cancelled", True)]
    jobs.cancel(running)
    assert len(jobs.seen) == 1  # it has not looked yet
    jobs.worker.gate.set()
    jobs.until(lambda: len(jobs.seen) == 2)
    ask(jobs, Worker.add, 2, 2)
    jobs.until(lambda: ("then", 4, True) in jobs.seen)
    assert jobs.seen.count(("cancelled", True)) == 2 and len(jobs.worker.threads) == 1  # the cancelled one never ran


def test_after_the_end_nothing_is_answered_or_begun(jobs):
    ask(jobs, Worker.wait)
    jobs.until(jobs.worker.reached.is_set)
    jobs.close()
    job = ask(jobs, Worker.add, 1, 1)
    jobs.worker.gate.set()
    assert not job.has_begun() and jobs.seen == []
