"""The last requests, for the window: who asked, how long it took, what was answered or why nothing was.

In memory only, and without what was sent.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

KEPT = 100
LONGEST = 200  # characters of an answer


@dataclass(frozen=True)
class ServedRequest:
    """`milliseconds`: until the answer was written; `text`: its beginning; `why`: there is none."""

    client: str
    route: str
    status: int
    milliseconds: float
    text: str = field(default="", repr=False)
    why: str = ""
    path: str = ""
    source: str = ""
    chance: float | None = None
    when: float = field(default_factory=time.time)


class Recorded:
    """Any thread may add and look.  `changed` is called after each one, from the thread that added it."""

    def __init__(self, changed: Callable[[], None] | None = None) -> None:
        self._lock = threading.Lock()
        self._requests: deque[ServedRequest] = deque(maxlen=KEPT)
        self._changed = changed
        self.count = 0

    def add(self, request: ServedRequest) -> None:
        with self._lock:
            self._requests.append(request)
            self.count += 1
        if self._changed is not None:
            self._changed()

    @property
    def requests(self) -> tuple[ServedRequest, ...]:
        """The newest last."""
        with self._lock:
            return tuple(self._requests)


def client_name(agent: str, route: str) -> str:
    """What a client is called here, by what it says about itself and what it asks for."""
    product = agent.split("/")[0].split(" ")[0].strip().lower()
    known = {
        ("curl", "/infill"): "llama.vim",
        ("axios", "/infill"): "llama.vscode",
        ("curl", "/v1/completions"): "minuet",
        ("curl", "/v1/fim/completions"): "minuet",
    }
    name = known.get((product, route)) or agent.split("/")[0].strip()
    return "".join(character for character in name if character.isprintable())[:40] or "unnamed client"
