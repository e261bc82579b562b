"""A server on a free port, with a model that a test plays."""

from __future__ import annotations

import threading

import pytest

from app.server.listening import LoopbackServer
from app.server.routes import Served
from tests.app.server.clients import Connection
from tests.generate.service.played import PlayedCompleter, service_with


@pytest.fixture
def completer():
    return PlayedCompleter("total = 0")


@pytest.fixture
def service(completer):
    """Answers in a thread of its own."""
    service = service_with(completer)
    thread = threading.Thread(target=service.run)
    thread.start()
    yield service
    service.close()
    thread.join()


@pytest.fixture
def server(service, data_folder):
    server = LoopbackServer(data_folder, Served(service, lambda: 0.25), 0)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def ask(server):
    """Sends a request as a well-behaved client does; headers given replace or remove (None) the usual ones."""
    return Connection(server).request
