"""Who may ask.  Checked for every request before its body is read; a web page in a browser never passes.

A page can make the user's browser send requests to this machine, by its own name (DNS rebinding) or across origins.
So the Host must be exactly ours, nothing that a browser adds may be there, and everything but `/health` needs the
token: the model can recite private code, and other users of this machine are others, too.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from email.message import Message

MOST_BODY = 4 << 20  # bytes
MOST_HEADERS = 64 << 10  # bytes, with the request line
PUBLIC = ("/health", "/v1/health")
FROM_BROWSERS = ("Origin", "Referer", "Sec-Fetch-Site", "Sec-Fetch-Mode", "Sec-Fetch-Dest")
ONCE = ("Host", "Content-Length", "Content-Type", "Authorization", "Transfer-Encoding", "Expect")
TYPES: Mapping[int, str] = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    405: "invalid_request_error",
    408: "invalid_request_error",
    409: "invalid_request_error",
    411: "invalid_request_error",
    413: "invalid_request_error",
    415: "invalid_request_error",
    500: "server_error",
    501: "not_supported_error",
    503: "unavailable_error",
}


class Refused(Exception):
    """A request that is not answered: the HTTP status, and why."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message

    def to_json(self) -> dict:
        """As llama.cpp words its errors."""
        return {"error": {"code": self.status, "message": self.message, "type": TYPES.get(self.status, "server_error")}}


@dataclass(frozen=True)
class Rules:
    """Of one server: its port, and the token it wants."""

    port: int
    token: str

    @property
    def hosts(self) -> frozenset[str]:
        """The only values of the Host header that are ours."""
        return frozenset(f"{name}:{self.port}" for name in ("127.0.0.1", "localhost", "[::1]"))

    def check(self, method: str, path: str, headers: Message) -> None:
        """Raise `Refused` unless the request may be answered.  Reads no body."""
        for name in ONCE:
            if len(headers.get_all(name, ())) > 1:
                raise Refused(400, f"{name} is given twice.")
        if (headers.get("Host") or "").lower() not in self.hosts:
            raise Refused(403, "This server answers only to its own address.")
        if any(name in headers for name in FROM_BROWSERS):
            raise Refused(403, "Requests from web pages are not answered.")
        if method not in ("GET", "POST"):
            raise Refused(403 if method == "OPTIONS" else 405, "Only GET and POST are answered.")
        if path not in PUBLIC and not self._has_token(headers):
            raise Refused(401, "The token is missing or wrong. It is in the settings and in the snippets for editors.")
        if "Transfer-Encoding" in headers:
            raise Refused(411, "Send the length of the body.")
        if method == "POST":
            self._check_body(headers)
        elif _length(headers):
            raise Refused(400, "GET has no body.")

    def _check_body(self, headers: Message) -> None:
        kind = (headers.get("Content-Type") or "").split(";")[0].strip().lower()
        if kind != "application/json":
            raise Refused(415, "Send JSON: Content-Type must be application/json.")
        if headers.get("Content-Length") is None:
            raise Refused(411, "Send the length of the body.")
        if _length(headers) > MOST_BODY:
            raise Refused(413, f"The request is larger than {MOST_BODY >> 20} MiB.")

    def _has_token(self, headers: Message) -> bool:
        kind, _, given = (headers.get("Authorization") or "").partition(" ")
        candidates = [given.strip() if kind.lower() == "bearer" else "", (headers.get("X-Api-Key") or "").strip()]
        wanted = self.token.encode()
        # All are compared, whatever the first one was: the time says nothing.
        right = [hmac.compare_digest(each.encode("utf-8", "replace"), wanted) for each in candidates]
        return bool(wanted) and any(right)


def _length(headers: Message) -> int:
    text = headers.get("Content-Length", "0")
    if not (text.isascii() and text.isdigit()):
        raise Refused(400, "Content-Length is not a number.")
    return int(text[:20])


def body_length(headers: Message) -> int:
    """Bytes of the body of a request that has passed."""
    return _length(headers)
