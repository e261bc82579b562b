"""What is written to the client: by one thread, so that a client that does not read holds up nobody else."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any

from app.language_server.messages import to_bytes


class Outbox:
    """Messages in the order in which they were sent."""

    def __init__(self, write: Callable[[bytes], None], broken: Callable[[], None]) -> None:
        """`write` writes all of what it is given; `broken` is called when the client no longer takes anything."""
        self._write, self._broken = write, broken
        self._waiting: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="outbox", daemon=True)
        self._thread.start()

    def send(self, content: dict[str, Any]) -> None:
        """From any thread; returns at once."""
        self._waiting.put({"jsonrpc": "2.0", **content})

    def close(self, seconds: float) -> None:
        """Write what is left, for as long as that."""
        self._waiting.put(None)
        self._thread.join(seconds)

    def _run(self) -> None:
        while (content := self._waiting.get()) is not None:
            try:
                self._write(to_bytes(content))
            except OSError:
                self._broken()
                return
