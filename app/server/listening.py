"""The sockets: 127.0.0.1 and, where the system has it, ::1, on one port; nothing else can be chosen.

A thread for each connection, as many as MOST_CONNECTIONS; beyond that they are closed at once.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import sys
import threading
from http.server import ThreadingHTTPServer
from pathlib import Path
from socketserver import TCPServer
from typing import Any

from app.server.access import Access, forget_server, keep_access, token_of
from app.server.handler import Handler
from app.server.routes import Served
from app.server.rules import Rules
from engine.errors import ConfigError

PORT = 8012  # what llama.vim asks by default
TRIED = 20  # ports from there on
MOST_CONNECTIONS = 256
POLL = 0.1  # seconds until a server notices that it is to end
FAREWELL = 5.0  # seconds for connections to end


class Listener(ThreadingHTTPServer):
    """One of the two sockets."""

    daemon_threads = True
    request_queue_size = 128
    allow_reuse_address = sys.platform != "win32"  # there it would let others take over the port

    def __init__(self, family: socket.AddressFamily, host: str, port: int) -> None:
        self.address_family = family
        self.rules = Rules(port, "")
        self.served: Served | None = None
        self._lock = threading.Lock()
        self._open: dict[socket.socket, threading.Thread] = {}
        super().__init__((host, port), Handler)

    def server_bind(self) -> None:
        """Without the look-up of the machine's name that http.server makes."""
        if self.address_family == socket.AF_INET6:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]

    def process_request(self, request: Any, client_address: Any) -> None:
        thread = threading.Thread(
            target=self.process_request_thread, args=(request, client_address), name="server connection", daemon=True
        )
        with self._lock:
            full = len(self._open) >= MOST_CONNECTIONS
            if not full:
                self._open[request] = thread
        if full:
            self.shutdown_request(request)
        else:
            thread.start()

    def shutdown_request(self, request: Any) -> None:
        super().shutdown_request(request)
        with self._lock:
            self._open.pop(request, None)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Whatever a client did: its connection is over, the server is not."""

    def end_connections(self) -> None:
        """Close every connection, and wait for their threads."""
        with self._lock:
            every = list(self._open.items())
        for connection, _ in every:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for _, thread in every:
            thread.join(FAREWELL)


class LoopbackServer:
    """Listens from `start` to `stop`."""

    def __init__(self, folder: Path, served: Served, port: int | None = None) -> None:
        """`folder`: where the token is kept. `port`: this one and no other; 0: any that is free; None: 8012 or the next
        that is free."""
        self._folder, self.served, self._wanted = folder, served, port
        self._listeners: list[Listener] = []
        self._threads: list[threading.Thread] = []
        self.port, self.token = 0, ""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def is_listening(self) -> bool:
        return bool(self._listeners)

    def start(self) -> None:
        """Raises ConfigError if there is no port."""
        self.token = token_of(self._folder)
        self._listeners = self._bound()
        self.port = self._listeners[0].server_port
        keep_access(self._folder, Access(self.token, self.port, os.getpid()))
        for listener in self._listeners:
            listener.rules, listener.served = Rules(self.port, self.token), self.served
            thread = threading.Thread(target=listener.serve_forever, args=(POLL,), name="server", daemon=True)
            self._threads.append(thread)
            thread.start()

    def stop(self) -> None:
        """End every connection and free the port."""
        listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener.shutdown()
            listener.server_close()
        for listener in listeners:
            listener.end_connections()
        for thread in self._threads:
            thread.join(FAREWELL)
        self._threads = []
        if listeners:
            forget_server(self._folder)

    def _bound(self) -> list[Listener]:
        ports = range(PORT, PORT + TRIED) if self._wanted is None else [self._wanted] * (1 if self._wanted else TRIED)
        for port in ports:
            with contextlib.suppress(_PortTaken):
                return _both(port)
        which = f"Ports {PORT} to {PORT + TRIED - 1} are" if self._wanted is None else f"Port {self._wanted} is"
        raise ConfigError(f"{which} in use by another program.", "Choose another port.")


class _PortTaken(Exception):
    pass


def _both(port: int) -> list[Listener]:
    """Sockets for both addresses: a program on the other one would get what is meant for us."""
    first = _bind(socket.AF_INET, "127.0.0.1", port)
    listeners = [first]
    if socket.has_ipv6:
        try:
            listeners.append(_bind(socket.AF_INET6, "::1", first.server_port))
        except _PortTaken:
            first.server_close()
            raise
        except OSError:
            pass  # this machine has no ::1
    return listeners


def _bind(family: socket.AddressFamily, host: str, port: int) -> Listener:
    try:
        return Listener(family, host, port)
    except OSError as error:
        if error.errno in (errno.EADDRINUSE, errno.EACCES, getattr(errno, "WSAEADDRINUSE", -1)):
            raise _PortTaken from error
        raise
