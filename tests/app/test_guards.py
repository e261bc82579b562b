"""The fixtures that guard every test do guard: the network is cut off, a thread left behind is named."""

from __future__ import annotations

import socket

import pytest


def test_leaving_this_machine_is_refused():
    with socket.socket() as outward, pytest.raises(AssertionError, match=r"connect to \('192\.0\.2\.1', 80\)"):
        outward.connect(("192.0.2.1", 80))
    with pytest.raises(AssertionError, match=r"looking up 'example\.org'"):
        socket.create_connection(("example.org", 80))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as outward, pytest.raises(AssertionError, match="sendto"):
        outward.sendto(b"", ("192.0.2.1", 53))


def test_this_machine_may_be_reached():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
        pass


def test_a_thread_left_behind_is_named(qapp, left_running):
    from PySide6.QtCore import QThread

    thread = QThread()
    thread.setObjectName("forgotten")
    thread.start()
    try:
        assert left_running(set(), [(thread, "here:1")])[-1] == "QThread forgotten started at here:1"
    finally:
        thread.quit()
        thread.wait()
