"""The guard: what passes, what is refused, what an agreement opens and for how long, and what the list says."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from app.network.connection_errors import ConnectionNotAllowed
from app.network.connections import KEPT, REFUSED, Guard, is_this_machine

ROOT = Path(__file__).parents[3]
INTERNET, INTERNET_6 = SimpleNamespace(family=socket.AF_INET), SimpleNamespace(family=socket.AF_INET6)
LOCAL = SimpleNamespace(family=getattr(socket, "AF_UNIX", None))


def refusal(guard: Guard, event: str, *arguments) -> str:
    with pytest.raises(ConnectionNotAllowed) as caught:
        guard.on_event(event, arguments)
    assert caught.value.remedy
    return guard.attempts[-1].words


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "localhost", "", "::ffff:127.0.0.1"])
def test_this_machine(host):
    assert is_this_machine(host)
    guard = Guard()
    guard.on_event("socket.connect", (INTERNET, (host, 80)))
    guard.on_event("socket.getaddrinfo", (host, 80, 0, 0, 0))
    assert guard.attempts == ()


@pytest.mark.parametrize(
    "host", ["192.0.2.1", "10.0.0.1", "fe80::1", "::ffff:192.0.2.1", "example.org", "localhost.example.org", "127.1x"]
)
def test_other_machines(host):
    assert not is_this_machine(host)


def test_every_way_out_is_refused_and_listed():
    guard, there = Guard(), ("192.0.2.1", 53)
    assert refusal(guard, "socket.connect", INTERNET, there) == "connect to 192.0.2.1, port 53"
    assert refusal(guard, "socket.connect", INTERNET_6, ("fe80::1%eth0", 53, 0, 0)) == "connect to fe80::1, port 53"
    assert refusal(guard, "socket.sendto", INTERNET, there) == "send to 192.0.2.1, port 53"
    assert refusal(guard, "socket.sendmsg", INTERNET, there) == "send to 192.0.2.1, port 53"
    assert refusal(guard, "socket.getaddrinfo", b"Example.org.", 443, 0, 0, 0) == "look up example.org"
    for event in ("socket.gethostbyname", "socket.gethostbyaddr"):
        assert refusal(guard, event, "example.org") == "look up example.org"
    assert refusal(guard, "socket.getnameinfo", there) == "look up 192.0.2.1, port 53"
    assert refusal(guard, "socket.bind", INTERNET, ("0.0.0.0", 80)) == "listen on 0.0.0.0, port 80"
    assert refusal(guard, "socket.bind", INTERNET_6, ("", 80)) == "listen on every address, port 80"
    assert (guard.refused, guard.allowed) == (10, 0)
    assert {attempt.verdict for attempt in guard.attempts} == {REFUSED}


def test_sockets_of_this_machine_pass():
    guard = Guard()
    guard.on_event("socket.connect", (LOCAL, "a-socket"))
    guard.on_event("socket.bind", (LOCAL, b"\0name"))
    guard.on_event("socket.sendmsg", (INTERNET, None))  # connected before, or not at all
    guard.on_event("socket.bind", (INTERNET, ("127.0.0.1", 0)))
    assert guard.attempts == ()


def test_a_family_that_nobody_knows_counts_as_a_way_out():
    refusal(Guard(), "socket.connect", SimpleNamespace(family=12345), (4, 7))


def test_what_the_user_agreed_to_passes_until_it_is_over(monkeypatch):
    answers = {"example.org": "192.0.2.7", "cdn.example.org": "192.0.2.8", "other.org": "192.0.2.9"}
    guard = Guard()

    def lookup(host, port, *_, **__):
        guard.on_event("socket.getaddrinfo", (host, port, 0, 0, 0))
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (answers[host], port))]

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    with guard.allowing(["Example.org"], "Fetch a model"):
        assert guard.open_permissions[0].purpose == "Fetch a model"
        for host in ("example.org", "cdn.example.org"):
            ((*_, address),) = socket.getaddrinfo(host, 443)
            guard.on_event("socket.connect", (INTERNET, address))
        with pytest.raises(ConnectionNotAllowed):
            socket.getaddrinfo("other.org", 443)
        refusal(guard, "socket.connect", INTERNET, ("192.0.2.9", 443))
        refusal(guard, "socket.getaddrinfo", "notexample.org", 443, 0, 0, 0)
        refusal(guard, "socket.bind", INTERNET, ("0.0.0.0", 443))
    assert socket.getaddrinfo is lookup and guard.open_permissions == ()
    assert [(a.words, a.purpose) for a in guard.attempts if a.verdict == "allowed"] == [
        ("look up example.org", "Fetch a model"),
        ("connect to 192.0.2.7, port 443", "Fetch a model"),
        ("look up cdn.example.org", "Fetch a model"),
        ("connect to 192.0.2.8, port 443", "Fetch a model"),
    ]
    refusal(guard, "socket.connect", INTERNET, ("192.0.2.7", 443))
    refusal(guard, "socket.getaddrinfo", "example.org", 443, 0, 0, 0)


def test_an_error_ends_the_agreement():
    guard = Guard()
    with pytest.raises(KeyError), guard.allowing(["example.org"], "Fetch a model"):
        raise KeyError
    refusal(guard, "socket.getaddrinfo", "example.org", 443, 0, 0, 0)


def test_the_list_has_an_end_and_the_count_has_none():
    guard = Guard(record=True)
    for port in range(KEPT + 3):
        guard.on_event("socket.connect", (INTERNET, ("192.0.2.1", port)))
    assert (len(guard.attempts), guard.refused, guard.attempts[-1].port) == (KEPT, KEPT + 3, KEPT + 2)


PROGRAM = """
import json, socket, sys
from app.command_line import main
try:
    main(["--version"])
except SystemExit:
    pass
assert "numpy" not in sys.modules and "PySide6" not in sys.modules
import app.network.connections
told = []
def tell(do):
    try:
        do()
        told.append("passed")
    except Exception as error:
        told.append(type(error).__name__)
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
tell(lambda: socket.socket().connect(("192.0.2.1", 80)))
tell(lambda: socket.socket().connect_ex(("192.0.2.1", 80)))
tell(lambda: socket.create_connection(("example.org", 80)))
tell(lambda: udp.sendto(b"", ("192.0.2.1", 53)))
tell(lambda: udp.connect(("192.0.2.1", 53)))
tell(lambda: socket.create_server(("", 0)))
server = socket.create_server(("127.0.0.1", 0))
tell(lambda: socket.create_connection(server.getsockname()))
print(json.dumps([told, app.network.connections.install() is app.network.connections.install(record=True)]))
"""


def test_every_start_of_the_program_has_the_guard():
    environment = {"PYTHONPATH": str(ROOT), "PATH": ""}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    told, one = json.loads(done.stdout.splitlines()[-1])
    assert told == ["ConnectionNotAllowed"] * 6 + ["passed"] and one
