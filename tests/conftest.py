"""What holds for every test: no screen, no network, a data folder of its own, and no thread left behind."""

from __future__ import annotations

import gc
import ipaddress
import os
import socket
import sys
import threading
import time
import traceback

import pytest

os.environ["QT_QPA_PLATFORM"] = "offscreen"  # before anything imports Qt
gc.disable()  # it would destroy widgets of earlier tests in whichever thread allocates: Qt does not survive that

COLLECT_FROM = 50_000  # objects since the last collection, between two tests
GRACE = 30.0  # seconds that a thread may take to end after its test
PATIENCE = 60_000  # milliseconds that a wait for Qt may take: it ends as soon as it is met, and machines are busy
LOCAL_NAMES = ("", "localhost")


def pytest_configure() -> None:
    """Give pytest-qt's waits, 5 seconds each by default, the patience that a busy machine needs."""
    from pytestqt.qtbot import QtBot

    for wait in (QtBot.waitUntil, QtBot.waitSignal, QtBot.waitSignals, QtBot.waitExposed):
        wait.__kwdefaults__["timeout"] = PATIENCE


@pytest.fixture(scope="session", autouse=True)
def session_data_folder(tmp_path_factory):
    """What lives longer than a test (a device that many tests share) keeps its state away from the user's own, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CODECOIL_DATA", str(tmp_path_factory.mktemp("session-data")))
        yield


@pytest.fixture(autouse=True)
def data_folder(tmp_path, monkeypatch):
    """Every test keeps its state in a folder of its own."""
    folder = tmp_path / "data"
    monkeypatch.setenv("CODECOIL_DATA", str(folder))
    return folder


class NetworkRefused(AssertionError):
    """A test tried to leave this machine."""


def is_local(family: int, address) -> bool:
    """True for Unix sockets and loopback addresses; a name that is not localhost would need a lookup, so it is not."""
    if family not in (socket.AF_INET, socket.AF_INET6):
        return True
    host = address[0]
    if host in LOCAL_NAMES:
        return True
    try:
        return ipaddress.ip_address(host.split("%")[0]).is_loopback
    except ValueError:
        return False


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    """Connecting to anything but this machine fails the test."""

    def guard(name: str, position: int = 0):
        plain = getattr(socket.socket, name)

        def guarded(self, *arguments):
            if not is_local(self.family, arguments[position]):
                raise NetworkRefused(f"{name} to {arguments[position]!r}")
            return plain(self, *arguments)

        monkeypatch.setattr(socket.socket, name, guarded)

    guard("connect")
    guard("connect_ex")
    guard("sendto", -1)
    lookup = socket.getaddrinfo

    def guarded_lookup(host, *arguments, **options):
        if not is_local(socket.AF_INET, (host or "",)):
            raise NetworkRefused(f"looking up {host!r}")
        return lookup(host, *arguments, **options)

    monkeypatch.setattr(socket, "getaddrinfo", guarded_lookup)


@pytest.fixture(autouse=True)
def no_thread_left(request, monkeypatch):
    """Fails a test that leaves a thread running: by name, and for a QThread by the line that started it."""
    before = set(threading.enumerate())
    started = watch_qthreads(monkeypatch)
    yield
    deadline = time.monotonic() + GRACE
    while (left := running_threads(before, started)) and time.monotonic() < deadline:
        time.sleep(0.01)
    if left:
        pytest.fail("the test left running: " + "; ".join(left))
    if sum(gc.get_count()) > COLLECT_FROM:
        gc.collect()


def watch_qthreads(monkeypatch) -> list:
    """Note every QThread that is started from Python, and where.  Loads no Qt where there is no use for it."""
    started: list = []
    if "PySide6.QtCore" not in sys.modules:
        return started
    from PySide6.QtCore import QThread

    plain = QThread.start

    def start(self, *arguments):
        caller = traceback.extract_stack(limit=2)[0]
        started.append((self, f"{caller.filename}:{caller.lineno}"))
        return plain(self, *arguments)

    monkeypatch.setattr(QThread, "start", start)
    return started


def running_threads(before: set, started: list) -> list[str]:
    """The threads that a test has started and that still run."""
    # A foreign thread that once ran Python stays in the list as a dummy after it has ended.
    left = [
        f"thread {thread.name}"
        for thread in threading.enumerate()
        if thread not in before and not isinstance(thread, threading._DummyThread)
    ]
    for thread, where in started:
        from shiboken6 import isValid

        if isValid(thread) and thread.isRunning():
            left.append(f"QThread {thread.objectName() or type(thread).__name__} started at {where}")
    return left


@pytest.fixture
def left_running():
    """The search for threads left behind, for the test of it."""
    return running_threads
