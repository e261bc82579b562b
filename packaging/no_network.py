"""Cuts this process, and all that it starts from then on, off every network but loopback; the kernel counts what tries.

On Linux, by a network namespace.  Standard library only.
"""

from __future__ import annotations

import array
import ctypes
import os
import socket
import struct
from pathlib import Path

CLONE_NEWNET, CLONE_NEWUSER = 0x40000000, 0x10000000
SIOCSIFFLAGS, IFF_UP = 0x8914, 1


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
