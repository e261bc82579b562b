"""A program of its own: runs Codecoil's commands cut off from every network, and tells what was tried.

    python cut_off.py REPORT {refuse|record} COMMANDS      (COMMANDS: JSON, a list of argument lists; one that begins
                                                            with "tour" takes packaging/'s tour of the window)

First it moves into a network namespace that has nothing but loopback, so that the kernel counts whatever wants to go
out, compiled code and child processes included.  Where that is not allowed, the guard alone watches.
"""

from __future__ import annotations

import array
import contextlib
import ctypes
import json
import os
import socket
import struct
import sys
from pathlib import Path

CLONE_NEWNET, CLONE_NEWUSER = 0x40000000, 0x10000000
SIOCSIFFLAGS, IFF_UP = 0x8914, 1
SOME_KERNELS = ("fill", "rmsnorm")  # the tour's checks need not be thorough here


def cut_off() -> bool:
    """Leave the network for good; False, and nothing has changed, where the system does not let us."""
    if not hasattr(os, "fork") or not hasattr(ctypes.CDLL(None), "unshare"):
        return False
    child = os.fork()  # tries first: a process that got half way could not come back
    if child == 0:
        try:
            leave()
        except OSError:
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1] != 0:
        return False
    leave()
    return True


def leave() -> None:
    """Into a namespace with nothing but loopback.  Some systems refuse it, some only its second or third step."""
    import fcntl

    user, group = os.getuid(), os.getgid()
    try:
        unshare(CLONE_NEWNET)
    except PermissionError:
        unshare(CLONE_NEWUSER | CLONE_NEWNET)
        for name, words in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
            Path("/proc/self", name).write_text(words)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = array.array("B", struct.pack("16sH14x", b"lo", IFF_UP))
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, request)


def unshare(flags: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(flags) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def tried_to_leave() -> int:
    """How often the kernel of this namespace was asked for a way out and had none.

    A packet to a port of this machine where nobody listens counts as well: a name is often asked of a resolver on
    loopback, which would pass the question on.
    """
    older, newer = Path("/proc/self/net/snmp"), Path("/proc/self/net/snmp6")
    count = counter(older, "Ip:", "OutNoRoutes") + counter(older, "Udp:", "NoPorts")
    if newer.exists():
        counts = dict(line.split() for line in newer.read_text().splitlines())
        count += int(counts["Ip6OutNoRoutes"]) + int(counts["Udp6NoPorts"])
    return count


def counter(file: Path, group: str, name: str) -> int:
    """One number of a file that has, for each group, a line of names and a line of numbers."""
    names, values = (line.split()[1:] for line in file.read_text().splitlines() if line.startswith(group))
    return int(dict(zip(names, values, strict=True))[name])


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
