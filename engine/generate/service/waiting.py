"""Requests that wait for the model.  Any thread may add, leave and take; standard library only."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from engine.generate.service.asking import CLOSED, SUPERSEDED, Answer, Asking

Heard = Callable[[Any], None]  # a Piece, any number of times, then one Answer


class Asked:
    """One request until it is answered, and everyone who listens: identical ones are answered together."""

    def __init__(self, asking: Asking) -> None:
        self.asking = asking
        self.began = time.perf_counter()
        self.due = self.began + asking.seconds if asking.seconds else float("inf")
        self._lock = threading.Lock()
        self._listeners: list[Heard] = []
        self._pieces: list[Any] = []
        self._over = False

    @property
    def is_over(self) -> bool:
        """Answered, superseded, or nobody listens any more."""
        return self._over

    @property
    def is_late(self) -> bool:
        return time.perf_counter() >= self.due

    @property
    def has_spoken(self) -> bool:
        return bool(self._pieces)

    def join(self, heard: Heard) -> bool:
        """Listen from now on, with what was said so far; False if it is over."""
        with self._lock:
            if self._over:
                return False
            for piece in self._pieces:
                heard(piece)
            self._listeners.append(heard)
            return True

    def leave(self, heard: Heard) -> None:
        """No longer listen.  Without listeners the request is over."""
        with self._lock:
            if heard in self._listeners:
                self._listeners.remove(heard)
            self._over = self._over or not self._listeners

    def say(self, piece: Any) -> None:
        with self._lock:
            if not self._over:
                self._pieces.append(piece)
                for heard in self._listeners:
                    heard(piece)

    def close(self, answer: Answer) -> None:
        """Answer everyone, once."""
        with self._lock:
            if self._over:
                return
            self._over = True
            for heard in self._listeners:
                heard(answer)

    def end(self, why: str) -> None:
        """Answer everyone with nothing."""
        took = (time.perf_counter() - self.began) * 1000
        self.close(Answer(why_empty=why, waited_ms=took, total_ms=took))


class WaitingLine:
    """One waiting request for each client, and the one that is being answered."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[str, Asked] = {}  # by client, in the order of their arrival
        self._present: Asked | None = None
        self._closed = False

    def add(self, asking: Asking, heard: Heard) -> Asked:
        """Put a request in the line; the client's earlier ones end at once."""
        asked = Asked(asking)
        with self._lock:
            earlier = [each for each in (self._waiting.get(asking.client), self._present) if each is not None]
            earlier = [each for each in earlier if each.asking.client == asking.client]
            for each in earlier:
                if each.asking == asking and each.join(heard):
                    return each
            asked.join(heard)
            closed = self._closed
            if not closed:
                self._waiting.pop(asking.client, None)
                self._waiting[asking.client] = asked
        if closed:
            asked.end(CLOSED)
        for each in earlier:
            each.end(SUPERSEDED)
        return asked

    def put_back(self, asked: Asked) -> None:
        """It made way for a more urgent one: answer it later, unless its client has asked for something else."""
        with self._lock:
            if not asked.is_over and asked.asking.client not in self._waiting and not self._closed:
                self._waiting[asked.asking.client] = asked

    def take(self) -> Asked | None:
        """The most urgent one, of equally urgent ones the oldest; None where none waits."""
        with self._lock:
            for client in [client for client, asked in self._waiting.items() if asked.is_over]:
                del self._waiting[client]
            waiting = sorted(self._waiting.values(), key=lambda asked: (asked.asking.urgency, asked.began))
            self._present = waiting[0] if waiting else None
            if self._present is not None:
                del self._waiting[self._present.asking.client]
            return self._present

    def finished(self) -> None:
        """The one that was taken is answered."""
        with self._lock:
            self._present = None

    def has_more_urgent(self, asked: Asked) -> bool:
        with self._lock:
            waiting = (each for each in self._waiting.values() if not each.is_over)
            return any(each.asking.urgency < asked.asking.urgency for each in waiting)

    def end_client(self, client: str, why: str) -> None:
        """End what a client waits for, if it does."""
        with self._lock:
            found = [self._waiting.pop(client, None), self._present]
        for asked in found:
            if asked is not None and asked.asking.client == client:
                asked.end(why)

    def close(self) -> None:
        """End everything, and everything that comes later."""
        with self._lock:
            self._closed = True
            every = [*self._waiting.values(), *filter(None, [self._present])]
            self._waiting.clear()
        for asked in every:
            asked.end(CLOSED)
