"""States along prompts that were read, so that the next prompt is read from where it differs.

A state is kept under the number of tokens before it and a hash of those tokens: it serves every prompt that begins with
them. Bounded by bytes; the states of the prompt that is asked about are the last ones to go.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from engine.generate.snapshot import Snapshot

ENTRY_BYTES = 256  # about what an entry takes besides its arrays


@dataclass(frozen=True)
class PrefixState:
    """The decoder's state after `position` tokens; `scores` (v,) of the next one where they were asked for."""

    position: int
    snapshot: Snapshot
    scores: np.ndarray | None = None

    @property
    def nbytes(self) -> int:
        return self.snapshot.nbytes + (0 if self.scores is None else self.scores.nbytes) + ENTRY_BYTES


class PrefixStates:
    """At most `limit` bytes of states.  Belongs to one thread at a time."""

    def __init__(self, limit: int) -> None:
        self.limit, self.nbytes = limit, 0
        self._states: OrderedDict[tuple[int, bytes], PrefixState] = OrderedDict()

    def __len__(self) -> int:
        return len(self._states)

    def find(self, ids: np.ndarray) -> PrefixState | None:
        """The longest kept beginning of ids (t,).  One of all t tokens only serves if it has their scores."""
        best = None
        for key in self._keys(ids, sorted({position for position, _ in self._states})):
            state = self._states.get(key)
            if state is None:
                continue
            self._states.move_to_end(key)
            if state.position < len(ids) or state.scores is not None:
                best = state
        return best

    def keep(self, ids: np.ndarray, state: PrefixState) -> None:
        """Keep the state after the first `state.position` of ids; the least recently used ones make room."""
        (key,) = self._keys(ids, [state.position])
        self._drop(key)
        if state.nbytes > self.limit:
            return
        while self._states and self.nbytes + state.nbytes > self.limit:
            self._drop(next(iter(self._states)))
        self._states[key] = state
        self.nbytes += state.nbytes

    def clear(self) -> None:
        """Forget all: the weights are others now."""
        self._states.clear()
        self.nbytes = 0

    def _drop(self, key: tuple[int, bytes]) -> None:
        old = self._states.pop(key, None)
        self.nbytes -= 0 if old is None else old.nbytes

    @staticmethod
    def _keys(ids: np.ndarray, positions: list[int]) -> list[tuple[int, bytes]]:
        """The keys of the beginnings of ids at `positions` (ascending), as far as ids go."""
        data, done, keys = np.ascontiguousarray(ids, np.int32), 0, []
        digest = blake2b(digest_size=16)
        for position in positions:
            if position > len(data):
                break
            digest.update(data[done:position].tobytes())
            done = position
            keys.append((position, digest.copy().digest()))
        return keys
