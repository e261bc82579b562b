"""A program of its own: runs Codecoil's commands cut off from every network, and tells what was tried.

    python cut_off.py REPORT {refuse|record} COMMANDS      (COMMANDS: JSON, a list of argument lists)

First it moves into a network namespace that has nothing but loopback, so that the kernel counts whatever wants to go
out, compiled code and child processes included.  Where that is not allowed, the guard alone watches.
"""

from __future__ import annotations

import array
import ctypes
import fcntl
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
    """Leave the network for good; False where the system does not let us."""
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.getuid(), os.getgid()
    if not hasattr(libc, "unshare"):
        return False
    if libc.unshare(CLONE_NEWNET) != 0:
        if libc.unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0:
            return False
        for name, words in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
            Path("/proc/self", name).write_text(words)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = array.array("B", struct.pack("16sH14x", b"lo", IFF_UP))
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, request)
    return True


def tried_to_leave() -> int:
    """How often the kernel of this namespace was asked for a way out and had none."""
    count = 0
    names, values = (
        line.split()[1:] for line in Path("/proc/self/net/snmp").read_text().splitlines() if line.startswith("Ip:")
    )
    count += int(dict(zip(names, values, strict=True))["OutNoRoutes"])
    newer = Path("/proc/self/net/snmp6")
    if newer.exists():
        count += int(dict(line.split() for line in newer.read_text().splitlines())["Ip6OutNoRoutes"])
    return count


def main(report: str, mode: str, commands: str) -> None:
    namespace = cut_off()
    before = tried_to_leave() if namespace else 0
    from app import connections
    from app.command_line import main as codecoil

    guard = connections.install(record=mode == "record")
    import engine.devices.single_kernel

    engine.devices.single_kernel.warm_up = lambda device, report: None  # prepared where they are first used
    if os.environ.get("PLANTED") == "python":
        plant()
    if os.environ.get("PLANTED") == "compiled":
        plant_compiled()
    codes = []
    for arguments in json.loads(commands):
        if arguments[0] == "tour":
            shorten_tour()
        codes.append(codecoil(arguments))
    told = {
        "namespace": namespace,
        "codes": codes,
        "attempts": [attempt.words for attempt in guard.attempts],
        "tried_to_leave": tried_to_leave() - before if namespace else 0,
    }
    Path(report).write_text(json.dumps(told))


def shorten_tour() -> None:
    """Few kernels and a quick scorecard, and no built-in model: a tour begins with a new, very small one then."""
    import app.workers.measuring
    import engine.model.starter
    import engine.selftest

    app.workers.measuring.CURSORS = 1
    engine.model.starter.starter_place = lambda: Path("there is none")
    engine.selftest.KERNELS = {name: engine.selftest.KERNELS[name] for name in SOME_KERNELS}


def plant() -> None:
    """A fault: something asks for a way out, and keeps quiet about having none."""
    try:
        socket.create_connection(("192.0.2.1", 443), timeout=0.1)
    except OSError:
        return


def plant_compiled() -> None:
    """A fault that no hook of Python sees: compiled code that connects by itself."""
    libc = ctypes.CDLL(None)
    descriptor = libc.socket(socket.AF_INET, socket.SOCK_STREAM, 0)
    address = struct.pack("=H", socket.AF_INET) + struct.pack("!H", 443) + socket.inet_aton("192.0.2.1") + bytes(8)
    libc.connect(descriptor, address, len(address))
    os.close(descriptor)


if __name__ == "__main__":
    main(*sys.argv[1:])
