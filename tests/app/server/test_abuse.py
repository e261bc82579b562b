"""Clients that mean harm, sized for the suite: whatever they do, the next one is answered.

`tests/benchmarks/server_abuse.py` does the same in earnest.
"""

from __future__ import annotations

import json
import random
import socket
import threading
import time

import pytest

from app.server import handler, listening
from tests.app.server.clients import Connection, read_one

INFILL = {"input_prefix": "x = 1\n", "input_suffix": "\n", "prompt": "y = "}


@pytest.fixture
def is_well(server):
    """The server still answers, and no connection is left."""

    def check() -> None:
        assert Connection(server).request("/infill", INFILL).json["content"] == "total = 0"
        for _ in range(6000):
            if not any(listener._open for listener in server._listeners):
                return
            time.sleep(0.01)
        raise AssertionError("connections are left")

    return check


def test_random_requests_are_refused_or_answered(server, is_well):
    dice = random.Random(4)
    words = [
        "/infill",
        "/v1/completions",
        "/health",
        "GET",
        "POST",
        "HTTP/1.1",
        "HTTP/9.9",
        "\x00",
        "é",
        "{}",
        "[[",
        ":",
    ]
    for _ in range(400):
        kind = dice.randrange(3)
        if kind == 0:
            data = dice.randbytes(dice.randrange(400))
        elif kind == 1:
            data = " ".join(dice.choices(words, k=6)).encode() + b"\r\n" * dice.randrange(4)
        else:
            body = json.dumps({dice.choice(list(INFILL)): dice.choice([None, 1, "x", [], {}, 1e308])}).encode()
            data = Connection(server).head("POST", dice.choice(words), {}, len(body) + dice.randrange(-2, 3)) + body
        answer = Connection(server).raw(data)
        assert answer == b"" or answer.startswith(b"HTTP/1.1 "), data
    is_well()


def test_random_fields_are_refused_or_answered(ask, is_well):
    dice = random.Random(5)
    names = ["input_prefix", "input_suffix", "prompt", "input_extra", "n_predict", "stop", "response_fields", "stream"]
    values = [
        None,
        True,
        0,
        -1,
        1e300,
        "",
        "x\ud800",
        [],
        [1],
        [{}],
        [{"text": "t"}],
        {},
        {"a": {}},
        ["content", "a/b/c"],
    ]
    for path in ("/infill", "/completion", "/v1/completions", "/v1/fim/completions"):
        for _ in range(40):
            body = {name: dice.choice(values) for name in dice.sample(names, 5)} | {
                "input_suffix": "\n",
                "input_prefix": "a\n",
            }
            response = ask(path, body)
            assert response.status in (200, 400), (path, body)
    is_well()


def test_a_client_that_sends_byte_by_byte_is_dropped(server, is_well, monkeypatch):
    """Each byte in time, the whole never: the clock runs for the request, not for the byte."""
    monkeypatch.setattr(handler, "READ_WITHIN", 0.3)
    connection = Connection(server)
    with connection.open() as plug:
        dropped = False
        for byte in connection.head("POST", "/infill", {}, 1000):
            try:
                plug.sendall(bytes([byte]))
            except OSError:
                dropped = True
                break
            time.sleep(0.01)
        assert dropped or plug.recv(65536) == b""
    is_well()


def test_a_connection_that_says_nothing_is_dropped(server, is_well, monkeypatch):
    monkeypatch.setattr(handler, "IDLE", 0.2)
    with Connection(server).open() as plug:
        assert plug.recv(65536) == b""
    is_well()


def test_a_body_that_never_comes_is_not_waited_for(server, is_well, monkeypatch):
    monkeypatch.setattr(handler, "READ_WITHIN", 0.3)
    connection = Connection(server)
    with connection.open() as plug:
        plug.sendall(connection.head("POST", "/infill", {}, 1000) + b'{"input_prefix"')
        assert b"200" not in plug.recv(65536)
    is_well()


def test_a_client_that_never_reads_blocks_nobody(server, is_well, completer, monkeypatch):
    """Its answer does not fit into the buffers: the writing thread gives up, and the model was never held up."""
    monkeypatch.setattr(handler, "WRITE_WITHIN", 0.3)
    completer.text = "x" * 8_000_000
    connection = Connection(server)
    body = json.dumps({"prompt": "x"}).encode()
    with connection.open() as plug:
        plug.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        plug.sendall(connection.head("POST", "/completion", {}, len(body)) + body)
        _until(lambda: len(completer.requests) == 1)
        completer.text = "total = 0"
        is_well()


def test_many_clients_at_once_are_all_answered(server, is_well):
    statuses: list[int] = []

    def client(number: int) -> None:
        body = INFILL | {"prompt": f"y_{number} = "}
        statuses.append(Connection(server).request("/infill", body, {"User-Agent": f"client {number}"}).status)

    threads = [threading.Thread(target=client, args=(number,)) for number in range(60)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert statuses == [200] * 60
    is_well()


def test_more_connections_than_there_are_places_are_closed(server, is_well, monkeypatch):
    monkeypatch.setattr(listening, "MOST_CONNECTIONS", 5)
    plugs = [Connection(server).open() for _ in range(12)]
    _until(lambda: sum(len(listener._open) for listener in server._listeners) == 5)
    for plug in plugs:
        plug.close()
    is_well()


def test_a_model_that_never_answers_is_not_waited_for(ask, server, completer, service):
    """A training step may take longer than any editor waits: they get an empty answer, and no error."""
    go_on = threading.Event()
    completer._during = lambda request: go_on.wait(60)
    object.__setattr__(server.served, "deadline", 0.1)
    response = ask("/infill", INFILL)
    go_on.set()
    assert response.status == 200 and response.json["content"] == "" and "busy" in response.json["codecoil"]["why"]


def test_a_client_that_waits_when_the_server_ends_is_let_go(server, completer, service):
    begun, go_on = threading.Event(), threading.Event()

    def during(request):
        begun.set()
        go_on.wait(60)

    completer._during = during
    connection = Connection(server)
    data = json.dumps(INFILL).encode()
    with connection.open() as plug:
        plug.sendall(connection.head("POST", "/infill", {}, len(data)) + data)
        assert begun.wait(60)
        server.stop()
        go_on.set()
        try:
            ended = plug.recv(65536) == b""
        except ConnectionResetError:
            ended = True
        assert ended and not server.is_listening


def test_half_a_request_before_a_whole_one_is_no_smuggling(server):
    """What is left of a refused request is not read as the next one."""
    connection = Connection(server)
    inner = connection.head("GET", "/v1/models", {}, None)
    outer = connection.head("POST", "/infill", {"Content-Type": "text/plain"}, len(inner)) + inner
    answer = connection.raw(outer)
    assert answer.startswith(b"HTTP/1.1 415") and answer.count(b"HTTP/1.1 ") == 1


def test_pipelined_requests_are_answered_in_order(server):
    connection = Connection(server)
    with connection.open() as plug:
        plug.sendall(connection.head("GET", "/health", {}, None) + connection.head("GET", "/v1/models", {}, None))
        with plug.makefile("rb") as stream:
            assert read_one(stream).json == {"status": "ok"} and read_one(stream).json["object"] == "list"


def _until(is_so) -> None:
    for _ in range(6000):
        if is_so():
            return
        time.sleep(0.01)
    raise AssertionError("it never came to that")
