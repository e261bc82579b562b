"""Who is answered: nobody but programs of this machine that have the token, whatever a web page tries."""

from __future__ import annotations

import json
import os
import socket
import stat

import pytest

from app.server.access import FILE_NAME, read_access, token_of
from app.server.listening import LoopbackServer
from app.server.routes import COMPLETING
from app.server.rules import FROM_BROWSERS, MOST_BODY
from tests.app.server.clients import Connection

INFILL = {"input_prefix": "x = 1\n", "input_suffix": "\n", "prompt": "y = "}


def test_it_listens_on_this_machine_only(server):
    addresses = {listener.server_address[0] for listener in server._listeners}
    assert addresses <= {"127.0.0.1", "::1"} and "127.0.0.1" in addresses
    assert len({listener.server_port for listener in server._listeners}) == 1


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"])
def test_its_own_names_are_answered(ask, server, name):
    assert ask("/health", headers={"Host": f"{name}:{server.port}"}).status == 200


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example:{port}", "127.0.0.1", "localhost", ":{port}", "", "127.0.0.1:{other}", "0.0.0.0:{port}"),
        *(
            "127.0.0.1.evil.example:{port}",
            "localhost.:{port}",
            "127.0.0.1:{port}@evil.example",
            "[::1]",
            "2130706433:{port}",
        ),
        *("machine.local:{port}", "127.0.0.1:{port}, evil.example", "127.0.0.1 :{port}"),
    ],
)
@pytest.mark.parametrize("path", ["/health", "/v1/models"])
def test_any_other_host_is_refused(ask, server, host, path):
    response = ask(path, headers={"Host": host.format(port=server.port, other=server.port + 1)})
    assert response.status == 403 and response.json["error"]["type"] == "permission_error"


def test_a_request_without_a_host_or_with_two_is_refused(ask, server):
    assert ask("/health", headers={"Host": None}).status == 403
    head = f"GET /health HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nHost: evil.example\r\n\r\n"
    assert Connection(server).raw(head.encode()).startswith(b"HTTP/1.1 400")


@pytest.mark.parametrize("name", FROM_BROWSERS)
def test_whatever_a_browser_sends_is_refused(ask, server, name):
    own = f"http://127.0.0.1:{server.port}"
    for value in ("null", "https://evil.example", own, ""):
        assert ask("/health", headers={name: value}).status == 403
        assert ask("/infill", INFILL, {name: value}).status == 403


def test_no_answer_allows_another_origin(ask):
    for response in (
        ask("/health"),
        ask("/infill", INFILL),
        ask("/health", headers={"Origin": "https://evil.example"}),
    ):
        assert not [name for name in response.headers if name.startswith("access-control")]
        assert response.headers["x-content-type-options"] == "nosniff"


def test_the_preflight_of_a_browser_is_refused(ask):
    assert ask("/infill", method="OPTIONS").status == 403


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "HEAD", "TRACE", "CONNECT", "BREW"])
def test_other_methods_are_refused(ask, server, completer, method):
    data = Connection(server).head(method, "/infill", {}, 2) + b"{}"
    assert Connection(server).raw(data).startswith(b"HTTP/1.1 405") and completer.requests == []


@pytest.mark.parametrize("path", [*COMPLETING, "/v1/models", "/codecoil/status", "/nothing/here"])
def test_everything_but_health_needs_the_token(ask, server, completer, path):
    body = None if path not in COMPLETING else INFILL
    wrong = [
        {"Authorization": None},
        {"Authorization": "Bearer "},
        {"Authorization": "Bearer wrong"},
        {"Authorization": f"Bearer {server.token}x"},
        {"Authorization": f"Basic {server.token}"},
        {"Authorization": server.token},
        {"Authorization": None, "X-Api-Key": "é"},
        {"Authorization": None, "X-Api-Key": ""},
    ]
    for headers in wrong:
        response = ask(path, body, headers)
        assert response.status == 401 and server.token not in response.body.decode()
    assert completer.requests == []


def test_health_needs_none_and_says_nothing(ask):
    response = ask("/health", headers={"Authorization": None})
    assert response.status == 200 and response.json == {"status": "ok"}


def test_the_token_may_come_either_way(ask, server):
    assert ask("/v1/models").status == 200
    assert ask("/v1/models", headers={"Authorization": None, "X-Api-Key": server.token}).status == 200
    assert ask("/v1/models", headers={"Authorization": f"bearer {server.token}"}).status == 200


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", None, "text/json"]
)
def test_what_a_form_can_send_is_refused(ask, completer, kind):
    assert ask("/infill", INFILL, {"Content-Type": kind}).status == 415 and completer.requests == []


def test_json_may_name_its_encoding(ask):
    assert ask("/infill", INFILL, {"Content-Type": "application/json; charset=utf-8"}).status == 200


def test_too_large_a_body_is_refused_before_it_is_sent(server):
    head = Connection(server).head("POST", "/infill", {}, MOST_BODY + 1)
    assert Connection(server).raw(head).startswith(b"HTTP/1.1 413")


@pytest.mark.parametrize("length", ["-1", "1e3", "0x10", "abc", "", "1, 2", "²"])
def test_a_length_that_is_no_number_is_refused(server, length):
    head = Connection(server).head("POST", "/infill", {"Content-Length": length}, 2)
    assert Connection(server).raw(head + b"{}").startswith(b"HTTP/1.1 400")


def test_a_body_of_unknown_length_is_refused(server):
    head = Connection(server).head("POST", "/infill", {"Content-Length": None, "Transfer-Encoding": "chunked"}, 2)
    assert Connection(server).raw(head + b"2\r\n{}\r\n0\r\n\r\n").startswith(b"HTTP/1.1 411")


def test_endless_headers_are_not_read(server):
    connection = Connection(server)
    answer = connection.raw(connection.head("GET", "/health", {}, None)[:-2] + b"X-A: " + b"a" * (1 << 20))
    assert b"200 OK" not in answer


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b"1", b'"x"', b"\xff\xfe", b"[" * 100_000, b'{"input_prefix": 1, "input_suffix": ""}'],
)
def test_what_is_no_request_is_refused(ask, completer, body):
    response = ask("/infill", body)
    assert response.status == 400 and response.json["error"]["code"] == 400 and completer.requests == []


def test_there_is_no_route_that_loads_fetches_or_writes(ask):
    assert set(COMPLETING) == {"/infill", "/completion", "/v1/completions", "/v1/fim/completions", "/fim/completions"}
    for path in (
        "/",
        "/props",
        "/slots",
        "/models/load",
        "/api/pull",
        "/v1/chat/completions",
        "/lora-adapters",
        "/../etc",
    ):
        assert ask(path).status == 404 and ask(path, {}).status == 404


def test_what_is_refused_is_refused_before_the_body_is_sent(server):
    """curl waits for leave to send a large body: it gets the refusal instead."""
    connection = Connection(server)
    head = connection.head("POST", "/infill", {"Expect": "100-continue", "Authorization": "Bearer no"}, 200_000)
    with connection.open() as plug:
        plug.sendall(head)
        assert plug.recv(65536).startswith(b"HTTP/1.1 401")


def test_the_token_is_256_bits_in_a_file_of_its_owner(server, data_folder):
    path = data_folder / FILE_NAME
    assert json.loads(path.read_text())["token"] == server.token and len(server.token) >= 43
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_access(data_folder).port == server.port


def test_the_token_stays_and_the_port_goes(server, data_folder, service):
    token = server.token
    server.stop()
    access = read_access(data_folder)
    assert (access.token, access.port) == (token, 0)
    again = LoopbackServer(data_folder, server.served, 0)
    again.start()
    again.stop()
    assert again.token == token


@pytest.mark.skipif(os.name != "posix", reason="other systems have no such permissions")
def test_a_token_that_others_could_read_is_replaced(data_folder):
    first = token_of(data_folder)
    (data_folder / FILE_NAME).chmod(0o644)
    second = token_of(data_folder)
    assert second != first and stat.S_IMODE((data_folder / FILE_NAME).stat().st_mode) == 0o600


@pytest.mark.parametrize("content", ["", "{", "[]", '{"token": 3}', '{"token": "short"}', '{"token": null}'])
def test_a_damaged_token_is_replaced(data_folder, content):
    data_folder.mkdir(parents=True, exist_ok=True)
    (data_folder / FILE_NAME).write_text(content)
    (data_folder / FILE_NAME).chmod(0o600)
    assert len(token_of(data_folder)) >= 43


def test_a_port_in_use_is_not_shared(server, service, data_folder):
    from engine.errors import ConfigError

    other = LoopbackServer(data_folder, server.served, server.port)
    with pytest.raises(ConfigError, match=str(server.port)):
        other.start()
    assert not other.is_listening


def test_the_next_port_is_taken_where_the_usual_one_is_in_use(service, data_folder, monkeypatch):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        monkeypatch.setattr("app.server.listening.PORT", taken.getsockname()[1])
        from app.server.routes import Served

        server = LoopbackServer(data_folder, Served(service, lambda: 0.0))
        server.start()
        try:
            assert server.port > taken.getsockname()[1] and str(server.port) in server.url
        finally:
            server.stop()


def test_the_second_address_is_answered_as_the_first(server):
    if len(server._listeners) < 2:
        pytest.skip("this machine has no ::1")
    assert Connection(server, socket.AF_INET6).request("/health").status == 200
