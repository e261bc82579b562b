"""The decoder: one sequence's recurrent state on the model's device, and the programs that move it on.

The state has a fixed size, so neither time nor memory of a token depends on how many came before. Longer texts are
read in chunks by the scan, and what is left over in passes of up to eight tokens; one token is such a pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from engine.devices.interface import Executable
from engine.errors import CodecoilError, InputError
from engine.generate.programs import DecodeState, Passes
from engine.generate.quantised import DecodeWeights
from engine.graph.kernels import FEW_TOKENS, TOP
from engine.graph.tensor import READ_BACK, Tensor
from engine.model.model import Model
from engine.model.step import checked_ids

CHUNKS = (512, 128, 32)  # tokens that the scan takes at a time; what is left over goes in passes of at most eight
EACH_CHUNK = 128  # tokens of a long text whose scores are all wanted: more would take much working memory
GREEDY_RUN = 8  # greedy tokens that one submit computes


class Cancelled(CodecoilError):
    """Whoever asked for a reading no longer wants it."""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """All that a decoder knows of what it has read, as a copy on the host: (layers, k-1, d) and (layers, n, d)."""

    position: int
    history: np.ndarray
    state: np.ndarray

    @property
    def nbytes(self) -> int:
        return self.history.nbytes + self.state.nbytes


class Decoder:
    """Reads tokens and gives the scores of the next one.

    Use it from the model's thread, and `close` it before the model. `position`: tokens read since the start.
    """

    def __init__(self, model: Model, *, precision: str = "float32", chunk: int = CHUNKS[0]) -> None:
        """`precision`: "float32" reads the model's own weights, so that a model in training is decoded as it is now;
        "float16" and "int8" read copies that `refresh` makes anew.

        `chunk`: the most tokens that are read between two looks at `cancelled`.
        """
        if not isinstance(chunk, int) or chunk < 1:
            raise InputError(f"A chunk has {chunk!r} tokens; it must be a whole number of at least 1.")
        self.model, self.precision, self.position = model, precision, 0
        self._chunks = sorted({chunk, *CHUNKS} & set(range(FEW_TOKENS + 1, chunk + 1)), reverse=True)
        self._few = min(chunk, FEW_TOKENS)
        self._state = DecodeState(model.config)
        self._weights = DecodeWeights(model.network, model.device, precision)
        self._passes = Passes(self._weights, model.device, self._state)
        self._adapters: dict = {}
        self._executables: dict[tuple, Executable] = {}
        model.device.allocate([self._state.slab, *self._weights.slabs])
        try:
            self.refresh()
        except BaseException:
            self.close()
            raise

    # ---- moving on

    def reset(self) -> None:
        """Forget everything that was read."""
        for tensor in (self._state.history, self._state.state):
            self.model.device.write(tensor, np.zeros(tensor.shape, np.float32))
        self.position = 0

    def read(
        self,
        ids: Sequence[int] | np.ndarray,
        progress: Callable[[int, int], None] | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> np.ndarray:
        """Read `ids` from the present state on: the scores (v,) of the token after the last of them.

        `progress` hears how many are read, of how many; `cancelled` is asked before each chunk, and where it says yes
        `Cancelled` is raised, with the state at the end of the last chunk.
        """
        return self._read(ids, "logits", progress, cancelled).read("logits")[0]

    def step(self, token: int) -> np.ndarray:
        """Read one token: the scores (v,) of the next."""
        return self._read([token], "logits").read("logits")[0]

    def read_each(self, ids: Sequence[int] | np.ndarray) -> np.ndarray:
        """Read `ids`: the scores (n, v) of the token after each of them."""
        flat, rows, done = self._checked(ids), [], 0
        while done < len(flat):
            size = EACH_CHUNK if len(flat) - done >= EACH_CHUNK and EACH_CHUNK in self._chunks else self._few
            part = flat[done : done + size]
            done += len(part)
            executable = self._executable("read", len(part), "each")
            executable.run({"ids": part})
            rows.append(executable.read("logits"))
            self.position += len(part)
        return np.concatenate(rows)

    def read_top(self, ids: Sequence[int] | np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, float]:
        """As `read`, but only the `k` best come back, best first and ties to the lowest id.

        Gives their ids, their scores and the logarithm of the sum of the exponentials of all scores. Up to 64 are found
        by the device; for more, all scores travel.
        """
        if not isinstance(k, int) or k < 1:
            raise InputError(f"The {k!r} best tokens were asked for; it must be a whole number of at least 1.")
        k = min(k, self.model.config.vocab_size)
        if k > TOP:
            logits = self.read(ids)
            best = np.argsort(-logits, kind="stable")[:k].astype(np.int32)
            return best, logits[best], float(np.logaddexp.reduce(logits.astype(np.float64)))
        row = self._read(ids, "top").read_later(READ_BACK)().reshape(-1)
        return row[1 + TOP : 1 + TOP + k].astype(np.int32), row[1 : 1 + k].copy(), float(row[0])

    def greedy(self, count: int, first: int) -> np.ndarray:
        """Read `first`, then the most likely token after it, and so on: the `count` tokens that follow `first`.

        The last of them is given, not read.
        """
        chosen = [np.array([first])]
        left = count
        while left > 0:
            run = GREEDY_RUN if left >= GREEDY_RUN else 1
            executable = self._executable("greedy", run)
            executable.run({"ids": self._checked(chosen[-1][-1:])})
            chosen.append(executable.read_later(READ_BACK)())
            self.position += run
            left -= run
        return np.concatenate(chosen)[1:].astype(np.int32)

    # ---- coming back

    def snapshot(self) -> Snapshot:
        """A copy of the present state."""
        return Snapshot(self.position, self._host_copy(self._state.history), self._host_copy(self._state.state))

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to where `snapshot` was taken; it may come from another decoder of the same model."""
        parts = ((self._state.history, snapshot.history), (self._state.state, snapshot.state))
        for tensor, array in parts:
            if array.shape != tensor.shape:
                raise InputError("The snapshot is of a model of another shape.", "Read the text again.")
        for tensor, array in parts:
            self.model.device.write(tensor, array)
        self.position = snapshot.position

    # ---- weights and memory

    def refresh(self) -> None:
        """Take note that the weights have changed; what was read stays read with the old ones."""
        adapters = dict(self.model.network.adapters)
        if adapters != self._adapters:  # other matrices, so other programs
            self._forget_programs()
            self._adapters = adapters
        self._executable("coefficients").run({})
        if self._weights.slabs:
            packing = self.model.device.compile(self._passes.packing())
            packing.run({})
            packing.close()

    def close(self) -> None:
        """Give all memory back."""
        self._forget_programs()
        self.model.device.release([self._state.slab, *self._weights.slabs])

    # ---- inside

    def _read(self, ids, give: str, progress=None, cancelled=None) -> Executable:
        """Read `ids` in pieces; the last of them gives what is asked for."""
        flat = self._checked(ids)
        done, total, executable = 0, len(flat), None
        while done < total:
            if cancelled is not None and cancelled():
                raise Cancelled(f"The reading of a text was cancelled after {done} of {total} tokens.")
            left = total - done
            size = next((chunk for chunk in self._chunks if chunk <= left), min(left, self._few))
            executable = self._executable("read", size, give if size == left else "nothing")
            executable.run({"ids": flat[done : done + size]})
            done += size
            self.position += size
            if progress is not None:
                progress(done, total)
        return executable

    def _checked(self, ids: Sequence[int] | np.ndarray) -> np.ndarray:
        return checked_ids(np.asarray(ids)[None], self.model.config, least=1)[0]

    def _executable(self, kind: str, *options) -> Executable:
        """A compiled program, made when first needed."""
        key = (kind, *options)
        if key not in self._executables:
            self._executables[key] = self.model.device.compile(getattr(self._passes, kind)(*options))
        return self._executables[key]

    def _forget_programs(self) -> None:
        while self._executables:
            self._executables.popitem()[1].close()

    def _host_copy(self, tensor: Tensor) -> np.ndarray:
        array = self.model.device.read(tensor) if tensor.size else np.zeros(tensor.shape, np.float32)
        array.flags.writeable = False
        return array
