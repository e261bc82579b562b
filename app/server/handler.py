"""One connection: requests are read within limits of size and time, checked, and answered.

Everything that a client can do wrong ends here: too slow, too large, half a request, no reader for the answer. Nothing
of it reaches the service, and nothing of a request is logged.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import socket
import time
from http.server import BaseHTTPRequestHandler
from typing import Any

from app.server.protocols.shapes import compact
from app.server.protocols.wanted import cut_at
from app.server.recorded import LONGEST, ServedRequest, client_name
from app.server.routes import COMPLETING, Route, look_up, route_of, warm_up_answer, whole_answer
from app.server.rules import MOST_HEADERS, Refused, body_length
from app.server.waiting_client import ClientLeft, answers
from engine.generate.service.asking import Answer

READ_WITHIN = 10.0  # seconds from a request's first byte to its last
IDLE = 60.0  # seconds between two requests of a connection
WRITE_WITHIN = 10.0  # seconds for a client to take an answer
BLOCK = 16 << 10

log = logging.getLogger(__name__)


class PatientReader(io.RawIOBase):
    """Reads from a socket until a moment, and not more than a number of bytes."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._until, self._left, self._begun = 0.0, 0, False

    def expect_request(self) -> None:
        """Wait for the next request; its time runs from its first byte on."""
        self._until, self._left, self._begun = time.monotonic() + IDLE, MOST_HEADERS + BLOCK, False

    def expect_body(self, length: int) -> None:
        self._left = length + BLOCK

    def readable(self) -> bool:
        return True

    def readinto(self, buffer) -> int:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError("too slow")
        if self._left <= 0:
            return 0
        self._connection.settimeout(left)
        count = self._connection.recv_into(buffer, min(len(buffer), self._left))
        self._left -= count
        if not self._begun:
            self._begun, self._until = True, time.monotonic() + READ_WITHIN
        return count


class Handler(BaseHTTPRequestHandler):
    """`server` is a `listening.Listener`."""

    protocol_version = "HTTP/1.1"
    server_version, sys_version = "codecoil", ""
    wbufsize = -1  # an answer leaves in one piece

    def setup(self) -> None:
        super().setup()
        self.rfile.close()
        self._reader = PatientReader(self.connection)
        self.rfile = io.BufferedReader(self._reader, BLOCK)
        with contextlib.suppress(OSError):
            self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def handle(self) -> None:
        """As many requests as the client sends; whatever it does, the thread ends quietly."""
        try:
            super().handle()
        except (OSError, ValueError):  # gone, too slow, or no HTTP at all
            self.close_connection = True

    def handle_one_request(self) -> None:
        self._reader.expect_request()
        self._checked = self._answered = False
        super().handle_one_request()

    def finish(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            super().finish()

    # ---- methods

    def do_GET(self) -> None:
        self._within_rules(self._get)

    def do_POST(self) -> None:
        self._within_rules(self._post)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("do_"):  # any other method is refused by the rules
            return self.do_GET
        raise AttributeError(name)

    def handle_expect_100(self) -> bool:
        """Say whether to go on before the body is sent: what is refused is never read."""
        try:
            self._check()
        except Refused as refused:
            self._refuse(refused)
            return False
        super().handle_expect_100()
        self.wfile.flush()
        return True

    # ---- inside

    @property
    def _route(self) -> str:
        return self.path.partition("?")[0]

    def _check(self) -> None:
        if not self._checked:
            self.server.rules.check(self.command, self._route, self.headers)
            self._checked = True

    def _within_rules(self, answer) -> None:
        self._began = time.perf_counter()
        try:
            self._check()
            answer()
        except Refused as refused:
            self._refuse(refused)
        except ClientLeft:
            self.close_connection = True
            self._note(499, Answer(why_empty="The client did not wait for the answer."))
        except OSError:
            self.close_connection = True
        except Exception as error:
            log.error("A request failed", exc_info=error)
            self.close_connection = True
            if not self._answered:
                self._refuse(Refused(500, "This request could not be answered."))

    def _get(self) -> None:
        self._send(200, compact(look_up(self._route, self.server.served)))

    def _post(self) -> None:
        route = route_of(self._route)
        wanted = route.read(self._body())
        served = self.server.served
        if wanted.folder and wanted.folder != served.status().folder:
            raise Refused(409, "Another folder is open.")
        if wanted.warms_up:
            self._send(200, warm_up_answer(route, wanted))
            return
        client = client_name(self.headers.get("User-Agent", ""), self._route)
        items = answers(served.service, served.asking(wanted, f"{client} {self._route}"), self._is_gone)
        with contextlib.closing(items):
            if wanted.stream:
                self._stream(route, wanted, items)
                return
            body, answer, text = whole_answer(route, wanted, items)
        self._raise_defects(answer)
        self._send(200, body)
        self._note(200, answer, text)

    def _stream(self, route: Route, wanted, items) -> None:
        """Server-sent events; an error before the first piece is an HTTP error."""
        events = route.events(wanted)
        text, answer = "", Answer()
        for item in items:
            if isinstance(item, Answer):
                answer = item
                break
            whole = cut_at(text + item.text, wanted.stop)
            self._write(events.piece(whole[len(text) :]))
            text = whole
        if not self._answered:
            self._raise_defects(answer)
        self._write(events.end(answer))
        self._end_stream()
        self._note(200, answer, text)

    def _raise_defects(self, answer: Answer) -> None:
        """What the engine says on purpose (no model yet, no memory left) is an empty answer; a defect is an error."""
        from engine.errors import CodecoilError

        if answer.error is not None and not isinstance(answer.error, CodecoilError):
            raise answer.error

    def _body(self) -> dict[str, Any]:
        length = body_length(self.headers)
        self._reader.expect_body(length)
        data = self.rfile.read(length)
        if len(data) < length:
            self.close_connection = True
            raise Refused(400, "The body is shorter than was announced.")
        try:
            body = json.loads(data)
        except (ValueError, RecursionError):
            raise Refused(400, "The body is not JSON.") from None
        if not isinstance(body, dict):
            raise Refused(400, "The body must be a JSON object.")
        return body

    def _is_gone(self) -> bool:
        """Whether the client has closed the connection; looks without waiting and without taking anything."""
        try:
            self.connection.settimeout(0)
            return self.connection.recv(1, socket.MSG_PEEK) == b""
        except (BlockingIOError, InterruptedError):
            return False
        except OSError:
            return True
        finally:
            with contextlib.suppress(OSError):
                self.connection.settimeout(WRITE_WITHIN)

    # ---- writing

    def _send(self, status: int, body: bytes) -> None:
        self._head(status, "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def _write(self, data: bytes) -> None:
        """Part of a stream; the first one sends the head."""
        if not self._answered:
            self._head(200, "text/event-stream; charset=utf-8")
            self._is_chunked = self.request_version == "HTTP/1.1"
            if self._is_chunked:
                self.send_header("Transfer-Encoding", "chunked")
            else:
                self.close_connection = True
            self.end_headers()
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data) if self._is_chunked else data)
        self.wfile.flush()

    def _end_stream(self) -> None:
        if self._is_chunked:
            self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def _head(self, status: int, kind: str) -> None:
        self._answered = True
        self.connection.settimeout(WRITE_WITHIN)
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Content-Security-Policy", "default-src 'none'")
        if self.close_connection:
            self.send_header("Connection", "close")

    def _refuse(self, refused: Refused) -> None:
        """What is left of the body is not read: the connection ends."""
        self.close_connection = True
        self._send(refused.status, compact(refused.to_json()))
        if self._route in COMPLETING:
            self._note(refused.status, Answer(why_empty=refused.message))

    def _note(self, status: int, answer: Answer, text: str = "") -> None:
        place = answer.sources[0] if answer.sources else None
        agent = self.headers.get("User-Agent", "") if self.headers is not None else ""
        self.server.served.recorded.add(
            ServedRequest(
                client_name(agent, self._route),
                self._route,
                status,
                1000 * (time.perf_counter() - self._began),
                text[:LONGEST],
                "" if text else answer.why_empty,
                answer.path,
                f"{place.path}:{place.line}" if place is not None else "",
                answer.chance,
            )
        )

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What http.server itself refuses (no HTTP, too many headers), in our own shape."""
        self.close_connection = True
        if not self._answered and self.request_version != "HTTP/0.9":
            self._send(code, compact(Refused(code, "This is not a request that can be answered.").to_json()))

    def log_message(self, format: str, *arguments: Any) -> None:
        """Nothing: requests are the user's own business."""
