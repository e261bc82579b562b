"""A named pipe in place of a file: a plain `open` would wait for a writer."""

from __future__ import annotations

import contextlib
import os
import threading

import pytest


@pytest.fixture
def pipe(tmp_path):
    """A named pipe.  A plain reader gets a line from it, so that a test of the fault fails instead of hanging."""
    if not hasattr(os, "mkfifo"):
        pytest.skip("there are no named pipes here")
    path = tmp_path / "pipe.py"
    os.mkfifo(path)

    def write():
        with contextlib.suppress(BrokenPipeError):
            path.write_text("x = 1\n")

    writer = threading.Thread(target=write)
    writer.start()
    yield path
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # ends the wait of the writer
    writer.join()
    os.close(reader)
