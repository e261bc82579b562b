"""Clients on a bare socket: what is sent is exactly what a test says."""

from __future__ import annotations

import json
import socket
from dataclasses import dataclass
from typing import Any

PATIENCE = 60.0  # seconds; a test that needs them has failed


@dataclass(frozen=True)
class Response:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def events(self) -> list[Any]:
        """The server-sent events, without the last, which is no JSON."""
        lines = [line for line in self.body.decode().split("\n") if line]
        assert all(line.startswith("data: ") for line in lines)
        return [json.loads(line[6:]) for line in lines if line != "data: [DONE]"]


class Connection:
    """One client."""

    def __init__(self, server, family: socket.AddressFamily = socket.AF_INET) -> None:
        self.server, self._family = server, family

    def open(self) -> socket.socket:
        connection = socket.socket(self._family, socket.SOCK_STREAM)
        connection.settimeout(PATIENCE)
        connection.connect(("127.0.0.1" if self._family == socket.AF_INET else "::1", self.server.port))
        return connection

    def head(self, method: str, path: str, headers: dict[str, str | None], length: int | None) -> bytes:
        usual = {"Host": f"127.0.0.1:{self.server.port}", "Authorization": f"Bearer {self.server.token}"}
        if length is not None:
            usual |= {"Content-Type": "application/json", "Content-Length": str(length)}
        every = {name: value for name, value in (usual | headers).items() if value is not None}
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in every.items()), "", ""]
        return "\r\n".join(lines).encode("latin-1")

    def request(
        self, path: str, body: Any = None, headers: dict[str, str | None] | None = None, method: str = ""
    ) -> Response:
        data = b"" if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
        method = method or ("GET" if body is None else "POST")
        with self.open() as connection:
            connection.sendall(self.head(method, path, headers or {}, None if body is None else len(data)) + data)
            return read_response(connection)

    def raw(self, data: bytes) -> bytes:
        """Send these bytes and nothing more; everything that comes back until the connection ends."""
        with self.open() as connection:
            received = b""
            try:
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)
                while block := connection.recv(65536):
                    received += block
            except TimeoutError:
                raise
            except OSError:
                pass  # closed with bytes of ours unread
            return received


def read_response(connection: socket.socket) -> Response:
    """One response, whole; 100 Continue is passed over."""
    with connection.makefile("rb") as stream:
        return read_one(stream)


def read_one(stream) -> Response:
    while True:
        status = int(stream.readline().split()[1])
        headers = {}
        while (line := stream.readline().strip()) != b"":
            name, _, value = line.decode("latin-1").partition(": ")
            headers[name.lower()] = value
        if status != 100:
            break
    if headers.get("transfer-encoding") == "chunked":
        body = b""
        while size := int(stream.readline(), 16):
            body += stream.read(size)
            stream.readline()
        stream.readline()
    else:
        body = stream.read(int(headers["content-length"])) if "content-length" in headers else stream.read()
    return Response(status, headers, body)
