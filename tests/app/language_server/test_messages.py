"""Messages out of bytes, however they arrive."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.language_server.messages import MOST_BODY, Malformed, MessageReader, to_bytes

ONE, TWO = {"id": 1, "method": "a"}, {"id": 2, "method": "b", "params": {"text": "😀 \r\n\r\nContent-Length: 7\r\n"}}


def read_all(*pieces: bytes) -> list:
    left = list(pieces)
    reader = MessageReader(lambda size: left.pop(0) if left else b"")
    messages = []
    while (message := reader.next()) is not None:
        messages.append("malformed" if isinstance(message, Malformed) else message)
    return messages


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.integers(1, 40), max_size=30))
def test_messages_may_arrive_in_any_pieces(cuts):
    data, pieces = to_bytes(ONE) + to_bytes(TWO) + to_bytes(ONE), []
    for cut in cuts:
        pieces.append(data[:cut])
        data = data[cut:]
    assert read_all(*[piece for piece in [*pieces, data] if piece]) == [ONE, TWO, ONE]


@pytest.mark.parametrize(
    "header",
    [b"content-length: %d\r\n\r\n", b"Content-Type: application/vscode-jsonrpc\r\nContent-Length:%d \r\n\r\n"],
)
def test_headers_are_read_as_http_has_them(header):
    body = json.dumps(ONE).encode()
    assert read_all(header % len(body) + body) == [ONE]


@pytest.mark.parametrize("shift", [-3, -1, 1, 7, 60])
def test_after_a_wrong_length_the_next_message_is_read(shift):
    body = json.dumps(ONE).encode()
    wrong = b"Content-Length: %d\r\n\r\n" % (len(body) + shift) + body
    found = read_all(wrong + to_bytes(TWO) + to_bytes(ONE))
    assert found[0] == "malformed" and [each for each in found if each != "malformed"] == [TWO, ONE]


@pytest.mark.parametrize(
    "garbage",
    [
        b"hello\r\n\r\n",
        b"Content-Length: -4\r\n\r\n",
        b"Content-Length: x\r\n\r\n{}",
        b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{a}",
        b"Content-Length: %d\r\n\r\n" % (MOST_BODY + 1),
        b"Content-Length: 4\r\n\r\n\xff\xfe{}",
        b"Content-Length: 3\r\n\r\n{a}",
        b"x" * 100_000,
        b"Content-Length: 200000\r\n\r\n" + b"[" * 200_000,
    ],
)
def test_what_is_no_message_is_reported_and_skipped(garbage):
    found = read_all(to_bytes(ONE), garbage, to_bytes(TWO))
    assert found[0] == ONE and found[-1] == TWO and set(map(str, found[1:-1])) == {"malformed"}


def test_a_bad_header_is_reported_before_more_arrives():
    calls = iter([b"nonsense\r\n\r\n"])
    assert isinstance(MessageReader(lambda size: next(calls)).next(), Malformed)


def test_half_a_message_at_the_end_is_none():
    assert read_all(to_bytes(ONE), to_bytes(TWO)[:-1]) == [ONE]
    assert read_all(b"Content-Len") == []
