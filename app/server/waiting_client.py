"""One client that waits for an answer: hears pieces from the service, in the thread of its connection."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterator

from engine.generate.service.asking import BUSY, Answer, Asking
from engine.generate.service.service import CompletionService

LOOK_EVERY = 0.05  # seconds between two looks whether the client is still there
GRACE = 0.25  # seconds beyond the deadline in which the service may still say that it is late


class ClientLeft(Exception):
    """The client has closed the connection: nobody reads the answer."""


def answers(service: CompletionService, asking: Asking, is_gone: Callable[[], bool]) -> Iterator[object]:
    """Pieces, then the answer.  Never later than the deadline, whatever the model is doing."""
    heard: queue.SimpleQueue = queue.SimpleQueue()
    listener = heard.put  # one object: the service finds it again by identity
    began = time.perf_counter()
    asked = service.ask(asking, listener)
    try:
        while True:
            try:
                item = heard.get(timeout=LOOK_EVERY)
            except queue.Empty:
                waited = time.perf_counter() - began
                if is_gone():
                    raise ClientLeft from None
                if asking.seconds and waited > asking.seconds + GRACE:
                    yield Answer(why_empty=BUSY, waited_ms=1000 * waited, total_ms=1000 * waited)
                    return
                continue
            yield item
            if isinstance(item, Answer):
                return
    finally:
        asked.leave(listener)
