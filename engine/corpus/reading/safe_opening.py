"""Reads the bytes of a file safely: follows no link, waits for no pipe, reads no more than a limit."""

from __future__ import annotations

import os
import stat

# Neither follow a link nor wait for a pipe that has replaced the file.
FLAGS = os.O_RDONLY
for _name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
    FLAGS |= getattr(os, _name, 0)


def read_file(path: str | os.PathLike[str], limit: int) -> bytes:
    """The first `limit` bytes of a file.  Raises OSError, also for what is not a plain file."""
    descriptor = os.open(path, FLAGS)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(0, "Not a file")
        data = os.read(descriptor, min(status.st_size + 1, limit))
        if len(data) == status.st_size or len(data) == limit:
            return data  # all that there was when it was opened: the only read for nearly every file
        parts, left = [data], limit - len(data)
        while left > 0 and (part := os.read(descriptor, min(left, 1 << 20))):
            parts.append(part)
            left -= len(part)
        return b"".join(parts)
    finally:
        os.close(descriptor)
