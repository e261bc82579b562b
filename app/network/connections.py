"""The guard: what this process may connect to, and the list of what it tried.

Nothing in Codecoil has a reason to connect beyond this machine but one: a base model that the user asked for.  So
the guard sits below every library, on the events that Python itself raises before it looks a name up, connects, sends
or listens; such a hook cannot be removed while the process lives.  Loopback and local sockets pass.
Everything else is blocked with `ConnectionNotAllowed`, unless its host is named in an `allowing` block, and either
way it is listed: the footer shows that list.

What it cannot see is code that calls the system without Python (drivers, Qt, a compiled download helper).  None of
those that we load has a reason to, the one that could is switched off in `app.network.base_model_fetching`, and
`tests/app/privacy` asks the kernel itself whether anything tried to connect.  Nor can it see into another process: we
start git, for which `engine.corpus.reading.git` disables every protocol and every program of the repository's settings,
and, to fetch a base model that the user asked for, pip, whose connections are listed here as well (`note`).

Every start of the program loads this file first, so it imports next to nothing.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

KEPT = 500  # attempts in the list; older ones are only counted
REFUSED, ALLOWED = "blocked", "allowed"
EVERYWHERE = ("0.0.0.0", "::", "")  # to listen there is to listen to the whole network

# event: (what was wanted, where in its arguments the address is)
EVENTS = {
    "socket.connect": ("connect", 1),
    "socket.sendto": ("send", 1),
    "socket.sendmsg": ("send", 1),
    "socket.bind": ("listen", 1),
    "socket.getaddrinfo": ("look up", 0),
    "socket.gethostbyname": ("look up", 0),
    "socket.gethostbyaddr": ("look up", 0),
    "socket.getnameinfo": ("look up", 0),
}


@dataclass(frozen=True)
class Attempt:
    """One attempt to reach beyond this machine."""

    when: float  # seconds since 1970
    action: str  # connect, send, listen or look up
    host: str
    port: int  # 0 where there is none
    verdict: str  # REFUSED or ALLOWED
    purpose: str = ""  # of the permission it was allowed by

    @property
    def words(self) -> str:
        """connect to example.org, port 443"""
        joint = {"look up": "look up", "listen": "listen on"}.get(self.action, f"{self.action} to")
        return f"{joint} {self.host or 'every address'}" + (f", port {self.port}" if self.port else "")


@dataclass(frozen=True)
class Permission:
    """Hosts that the user agreed to, and for what purpose.  A host includes its subdomains (cdn.example.org)."""

    hosts: tuple[str, ...]
    purpose: str

    def covers(self, host: str) -> bool:
        """Whether this host is one of them."""
        return any(host == own or host.endswith(f".{own}") for own in self.hosts)


class Guard:
    """Decides about each event and keeps the list.  Any thread may call it.

    `record` lists without blocking: for a test that wants to see everything a program would try.
    """

    def __init__(self, record: bool = False) -> None:
        self.record = record
        self._lock = threading.RLock()  # an event may come while another is being listed, in the same thread
        self._attempts: deque[Attempt] = deque(maxlen=KEPT)
        self._counts = {REFUSED: 0, ALLOWED: 0}
        self._permissions: list[Permission] = []
        self._addresses: dict[str, Permission] = {}  # that an allowed name was found to have

    # ---- what was tried

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """The newest last; at most `KEPT`."""
        with self._lock:
            return tuple(self._attempts)

    @property
    def refused(self) -> int:
        """How many were blocked since start-up."""
        return self._counts[REFUSED]

    @property
    def allowed(self) -> int:
        """How many were allowed since start-up."""
        return self._counts[ALLOWED]

    @property
    def open_permissions(self) -> tuple[Permission, ...]:
        """What is allowed at this moment."""
        with self._lock:
            return tuple(self._permissions)

    def note(self, attempt: Attempt) -> None:
        """List what a process did that was started because the user asked for it."""
        with self._lock:
            self._attempts.append(attempt)
            self._counts[attempt.verdict] += 1

    # ---- what may be done

    @contextlib.contextmanager
    def allowing(self, hosts: Sequence[str], purpose: str) -> Iterator[Permission]:
        """Let these hosts be reached inside the block: after the user has agreed to them, never before."""
        permission = Permission(tuple(host.lower().rstrip(".") for host in hosts), purpose)
        with self._lock:
            self._permissions.append(permission)
        try:
            with self._noting_addresses():
                yield permission
        finally:
            with self._lock:
                self._permissions.remove(permission)
                self._addresses = {key: own for key, own in self._addresses.items() if own is not permission}

    @contextlib.contextmanager
    def _noting_addresses(self) -> Iterator[None]:
        """A connection is made to an address: note those that allowed names have, while there is a permission."""
        import socket

        plain = socket.getaddrinfo

        def noting(host, *arguments, **options):
            found = plain(host, *arguments, **options)
            permission = self._permission_for(as_text(host))
            if permission is not None:
                with self._lock:
                    self._addresses |= {entry[4][0]: permission for entry in found}
            return found

        socket.getaddrinfo = noting
        try:
            yield
        finally:
            if socket.getaddrinfo is noting:
                socket.getaddrinfo = plain

    # ---- deciding

    def on_event(self, event: str, arguments: tuple[Any, ...]) -> None:
        """One of `EVENTS` is about to happen: let it, or raise ConnectionNotAllowed."""
        action, place = EVENTS[event]
        address = arguments[place]
        if address is None or (action != "look up" and not is_internet(arguments[0])):
            return  # a socket that is connected already, or one of this machine
        host, port = host_and_port(address)
        if is_this_machine(host) and not (action == "listen" and host in EVERYWHERE):
            return
        permission = None if action == "listen" else self._permission_for(host)
        verdict = ALLOWED if permission is not None else REFUSED
        attempt = Attempt(time.time(), action, host, port, verdict, permission.purpose if permission else "")
        self.note(attempt)
        if permission is None and not self.record:
            from app.network.connection_errors import ConnectionNotAllowed

            raise ConnectionNotAllowed(
                f"Codecoil blocked an attempt to {attempt.words}.",
                "Only connections that you ask for explicitly are allowed: see Get a base model… in the menu.",
            )

    def _permission_for(self, host: str) -> Permission | None:
        with self._lock:
            for permission in self._permissions:
                if permission.covers(host):
                    return permission
            return self._addresses.get(host)


_installed: Guard | None = None
_install_lock = threading.Lock()


def install(record: bool = False) -> Guard:
    """Install the guard in this process permanently; returns the one already installed, if any."""
    global _installed
    with _install_lock:
        if _installed is None:
            _installed = Guard(record)
            sys.addaudithook(hook_of(_installed))
        return _installed


def hook_of(guard: Guard) -> Callable[[str, tuple[Any, ...]], None]:
    """Python calls this at every audited event; nearly all are irrelevant, so it must be quick."""

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in EVENTS:
            guard.on_event(event, arguments)

    return hook


def is_internet(endpoint: Any) -> bool:
    """Whether a socket could leave this machine.  Every family but those known to be local counts."""
    import socket

    local = {getattr(socket, name, None) for name in ("AF_UNIX", "AF_NETLINK", "AF_ALG")}
    return getattr(endpoint, "family", None) not in local


def host_and_port(address: Any) -> tuple[str, int]:
    """The host of an address (a tuple, or a bare name) without its scope, in small letters, and the port."""
    host, port = (address[0], address[1] if len(address) > 1 else 0) if isinstance(address, tuple) else (address, 0)
    return as_text(host), port if isinstance(port, int) else 0


def as_text(host: Any) -> str:
    """A host as lower-case text; None is this machine."""
    if host is None:
        return "localhost"
    text = bytes(host).decode("ascii", "replace") if isinstance(host, bytes | bytearray) else str(host)
    return text.split("%")[0].rstrip(".").lower()


def is_this_machine(host: str) -> bool:
    """True for loopback addresses and their name.  Any other name would have to be looked up, so it is not."""
    if host in ("localhost", *EVERYWHERE):
        return True
    import ipaddress

    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback
