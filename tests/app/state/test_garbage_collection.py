"""Cycles are collected in the GUI thread, never in another one."""

from __future__ import annotations

import gc
import threading

import pytest

from app.state.garbage_collection import Collecting


class Ring:
    """Garbage that only the collector finds; notes the thread it is destroyed in."""

    seen: list[str] = []

    def __init__(self) -> None:
        self.own = self

    def __del__(self) -> None:
        self.seen.append(threading.current_thread().name)


@pytest.fixture
def collecting(qapp):
    gc.enable()
    Ring.seen.clear()
    made = Collecting()
    made.start()
    yield made
    made.stop()
    gc.disable()


def allocate(kept: list) -> None:
    """Enough to trigger the collector many times."""
    kept += [[number] for number in range(20_000)]


def test_a_thread_that_allocates_destroys_nothing(collecting):
    gc.collect()
    Ring()
    kept: list = []
    thread = threading.Thread(target=allocate, args=(kept,))
    thread.start()
    thread.join()
    assert Ring.seen == []
    collecting.on_due()
    assert Ring.seen == [threading.main_thread().name]


def test_without_it_the_thread_would(qapp):
    gc.collect()
    Ring.seen.clear()
    gc.enable()
    try:
        Ring()
        thread = threading.Thread(target=allocate, args=([],), name="other")
        thread.start()
        thread.join()
    finally:
        gc.disable()
    assert Ring.seen == ["other"]


def test_afterwards_python_collects_by_itself_again(collecting):
    assert not gc.isenabled()
    collecting.stop()
    assert gc.isenabled()


def test_what_is_there_when_it_settles_is_not_looked_at_again(collecting):
    try:
        collecting.settle()
        assert gc.get_freeze_count() > 1000
    finally:
        gc.unfreeze()
    collecting.stop()
    collecting.settle()
    assert gc.get_freeze_count() == 0  # nobody collects in this thread any more
