"""A program of its own: runs Codecoil's commands cut off from every network, and tells what was tried.

    python cut_off.py REPORT {refuse|record} COMMANDS      (COMMANDS: JSON, a list of argument lists; one that begins
                                                            with "tour" takes packaging/'s tour of the window)

First it leaves the network (packaging/no_network.py), so that the kernel counts whatever wants to go out, compiled code
and child processes included.  Where that is not allowed, the guard alone watches.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import socket
import struct
import sys
from pathlib import Path

from no_network import cut_off, tried_to_leave

SOME_KERNELS = ("fill", "rmsnorm")  # the tour's checks need not be thorough here


def main(report: str, mode: str, commands: str) -> None:
    namespace = not os.environ.get("GUARD_ONLY") and cut_off()
    before = tried_to_leave() if namespace else 0
    from app.command_line import main as codecoil
    from app.network import connections

    guard = connections.install(record=mode == "record")
    import engine.devices.single_kernel

    engine.devices.single_kernel.warm_up = lambda device, report: None  # prepared where they are first used
    planted = os.environ.get("PLANTED")
    if planted and (namespace or mode == "refuse"):  # else it would really go out
        FAULTS[planted]()
    codes = []
    for arguments in json.loads(commands):
        codes.append(take_short_tour(arguments[1:]) if arguments[0] == "tour" else codecoil(arguments))
    told = {
        "namespace": namespace,
        "codes": codes,
        "attempts": [attempt.words for attempt in guard.attempts],
        "tried_to_leave": tried_to_leave() - before if namespace else 0,
    }
    Path(report).write_text(json.dumps(told))


def take_short_tour(arguments: list[str]) -> int:
    """Few kernels, a quick scorecard and no built-in model: the tour then starts with a new, very small one."""
    import take_tour

    import app.workers.measuring
    import engine.model.starter
    import engine.selftest

    app.workers.measuring.CURSORS = 1
    engine.model.starter.starter_place = lambda: Path("there is none")
    engine.selftest.KERNELS = {name: engine.selftest.KERNELS[name] for name in SOME_KERNELS}
    return take_tour.main(arguments)


# ---- faults: something asks for a way out, and keeps quiet about having none


def plant(host: str) -> None:
    from app.network.connection_errors import ConnectionNotAllowed

    with contextlib.suppress(OSError, ConnectionNotAllowed):
        socket.create_connection((host, 443), timeout=0.1)


def plant_compiled() -> None:
    """Compiled code that connects directly, which no hook of Python sees."""
    compiled("connect", socket.AF_INET, socket.SOCK_STREAM, address_of("192.0.2.1", 443))


def plant_compiled_6() -> None:
    address = struct.pack("=H", socket.AF_INET6) + struct.pack("!H", 443) + bytes(4)
    address += socket.inet_pton(socket.AF_INET6, "2001:db8::1") + bytes(4)
    compiled("connect", socket.AF_INET6, socket.SOCK_STREAM, address)


def plant_resolver() -> None:
    """Compiled code that asks the resolver of this machine for a name."""
    compiled("sendto", socket.AF_INET, socket.SOCK_DGRAM, b"\0" * 12, 12, 0, address_of("127.0.0.53", 53))


def plant_qt() -> None:
    from PySide6.QtCore import QCoreApplication
    from PySide6.QtNetwork import QTcpSocket

    application = QCoreApplication([])
    outward = QTcpSocket()
    outward.connectToHost("192.0.2.1", 443)
    outward.waitForConnected(100)
    application.shutdown()


def address_of(host: str, port: int) -> bytes:
    return struct.pack("=H", socket.AF_INET) + struct.pack("!H", port) + socket.inet_aton(host) + bytes(8)


def compiled(call: str, family: int, kind: int, *arguments: bytes | int) -> None:
    """A call of the C library on a new socket; the last argument is the address."""
    libc = ctypes.CDLL(None)
    descriptor = libc.socket(family, kind, 0)
    getattr(libc, call)(descriptor, *arguments, len(arguments[-1]))
    os.close(descriptor)


FAULTS = {
    "python": lambda: plant("192.0.2.1"),
    "python 6": lambda: plant("2001:db8::1"),
    "compiled": plant_compiled,
    "compiled 6": plant_compiled_6,
    "resolver": plant_resolver,
    "qt": plant_qt,
}


if __name__ == "__main__":
    main(*sys.argv[1:])
