"""The decoder: one sequence's state on the model's device, and the programs that move it on.

Longer texts are read in chunks, and what is left over in passes of up to eight tokens; one token is such a pass. A
recurrent state has a fixed size, and going back needs a copy of it. A cache has a row for each token, and going back is
forgetting rows; a context that would be overwritten is saved on the host (`contexts`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from engine.devices.interface import Executable
from engine.errors import CodecoilError, InputError
from engine.generate.contexts import Context, Contexts, agreement
from engine.generate.drawing import inputs_of
from engine.generate.options import Sampling
from engine.generate.programs import DecodeState, Passes
from engine.generate.quantised import DecodeWeights
from engine.generate.reading_ahead import ReadingAhead
from engine.generate.snapshot import Snapshot
from engine.graph.kernels import FEW_TOKENS, TOP
from engine.graph.tensor import READ_BACK, Tensor
from engine.model.blocks.block import CACHE, RECURRENT
from engine.model.model import Model
from engine.model.step import checked_ids

CHUNKS = (512, 128, 32)  # tokens that the scan takes at a time; what is left over goes in passes of at most eight
EACH_CHUNK = 128  # tokens of a long text whose scores are all wanted: more would take much working memory
RUN = 8  # tokens that one submit chooses
CONTEXT = 4096  # tokens that a cache holds
WORTH_KEEPING = 128  # tokens of a context from which on it is saved before it is overwritten


class Cancelled(CodecoilError):
    """Whoever asked for a reading no longer wants it."""


class Decoder(ReadingAhead):
    """Reads tokens and gives the scores of the next one.

    Use it from the model's thread, and `close` it before the model. `position`: tokens read since the start.
    """

    def __init__(
        self, model: Model, *, precision: str = "float32", chunk: int = CHUNKS[0], context: int = CONTEXT
    ) -> None:
        """`precision`: "float32" reads the model's own weights, so that a model in training is decoded as it is now;
        "float16" and "int8" read copies that `refresh` makes anew, but none of what the model keeps in as few bits.

        `chunk`: the most tokens that are read between two looks at `cancelled`. `context`: the most tokens that a cache
        holds; a model without one reads without end.
        """
        if not isinstance(chunk, int) or chunk < 1:
            raise InputError(f"A chunk has {chunk!r} tokens; it must be a whole number of at least 1.")
        self.model, self.position = model, 0
        self._chunks = sorted({chunk, *CHUNKS} & set(range(FEW_TOKENS + 1, chunk + 1)), reverse=True)
        self._few = min(chunk, FEW_TOKENS)
        context = min(context, getattr(model.config, "max_position_embeddings", context))
        self._state = DecodeState(model.config, context, model.device.limits.max_binding_bytes)
        self._ids: list[int] = []  # whose keys and values the cache holds; some may lie behind `position`
        self._since_saved: list[int] = []
        self._is_saved = False
        self._must_return = False
        self._contexts = Contexts()
        self._weights = DecodeWeights(model.network, model.device, precision)
        self._passes = Passes(self._weights, model.device, self._state)
        self._adapters: dict = {}
        self._executables: dict[tuple, Executable] = {}
        saved = [self._state.saved_slab] if self._state.is_recurrent else []
        self._slabs = [*self._state.slabs, *saved, *self._weights.slabs]
        model.device.allocate(self._slabs)
        try:
            self.refresh()
        except BaseException:
            self.close()
            raise

    # ---- moving on

    def reset(self) -> None:
        """Forget everything that was read."""
        for tensor in self._state.of_role(RECURRENT).values():
            self.model.device.write(tensor, np.zeros(tensor.shape, np.float32))
        self.position, self._must_return = 0, False

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
        self._return()
        while done < len(flat):
            size = EACH_CHUNK if len(flat) - done >= EACH_CHUNK and EACH_CHUNK in self._chunks else self._few
            part = flat[done : done + size]
            done += len(part)
            executable = self._executable("read", len(part), "each")
            self._run(executable, part)
            rows.append(executable.read("logits"))
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
        self._return()
        chosen = [np.array([first])]
        left = count
        while left > 0:
            run = RUN if left >= RUN else 1
            executable = self._executable("greedy", run)
            first_id = self._checked(chosen[-1][-1:])
            self._make_room(run)
            executable.run({"ids": first_id} | self._places(executable, run))
            chosen.append(executable.read_later(READ_BACK)())
            self._note([*first_id, *chosen[-1][:-1]])
            left -= run
        return np.concatenate(chosen)[1:].astype(np.int32)

    def draw(self, count: int, first: int, sampling: Sampling, recent: Sequence[int], drawn: int) -> np.ndarray:
        """As `greedy`, chosen as `sampling` says: at most RUN tokens, and fewer, or none, before one that can only be
        chosen from all scores; then the last of them, or `first`, has not been read.

        `recent`: all tokens before and `first`; `drawn`: how many were chosen before.
        """
        self._return()
        executable = self._executable("drawn", count, sampling.repetition_window if sampling.penalises else 0)
        inputs = {"ids": self._checked([first])} | inputs_of(sampling, count, recent, drawn)
        self._make_room(count)
        executable.run(inputs | self._places(executable, count))
        chosen, is_drawn = executable.read_later(READ_BACK)().T
        self._is_saved = True
        self._since_saved = [first, *chosen[:-1].tolist()]
        self._note(self._since_saved)
        known = count if is_drawn.all() else int(is_drawn.argmin())
        if known < count:
            self.keep(known, count)
        return chosen[:known]

    @property
    def run(self) -> int:
        """How many tokens it is worth to choose before the first of them is looked at."""
        if not self.model.device.latency_bound:
            return 1
        return min(RUN, self._state.context - self.position) if self._state.has_cache else RUN

    # ---- coming back

    def snapshot(self) -> Snapshot:
        """The present state, to come back to."""
        self._return()
        copies = tuple(self._host_copy(tensor) for tensor in self._state.of_role(RECURRENT).values())
        return Snapshot(self.position, copies, tuple(self._ids[: self.position]))

    def restore(self, snapshot: Snapshot) -> None:
        """Go back to where `snapshot` was taken; it may come from another decoder of the same model."""
        tensors = self._state.of_role(RECURRENT).values()
        if [array.shape for array in snapshot.recurrent] != [tensor.shape for tensor in tensors]:
            raise InputError("The snapshot is of a model of another shape.", "Read the text again.")
        self._must_return = False
        if self._state.has_cache and not self._find_context(snapshot):
            self.reset()
            self._read(snapshot.ids, "nothing")
            return
        for tensor, array in zip(tensors, snapshot.recurrent, strict=True):
            self.model.device.write(tensor, array)
        self.position = snapshot.position

    def _find_context(self, snapshot: Snapshot) -> bool:
        """Have the cache hold what was read up to the snapshot; False where that has to be read again."""
        wanted = snapshot.ids
        if tuple(self._ids[: len(wanted)]) == wanted:
            return True
        kept = self._contexts.take(wanted)
        if kept is None:
            return False
        self._bring_back(kept)
        return True

    @property
    def keeps_every_prefix(self) -> bool:
        """Whether it can go back to any place of what it has read, without a snapshot."""
        return self._state.has_cache and not self._state.is_recurrent

    def return_to(self, ids: Sequence[int] | np.ndarray) -> int:
        """Go to where `ids` and what was read before part, at the latest before the last of `ids`.

        Gives how many of `ids` are read already. Only for a decoder that keeps every prefix.
        """
        wanted = tuple(np.asarray(ids)[:-1].tolist())
        shared = agreement(self._ids, wanted)
        nearest = self._contexts.take_nearest(wanted, shared + WORTH_KEEPING)
        if nearest is not None:
            self._bring_back(nearest)
            shared = agreement(self._ids, wanted)
        self.position = shared
        return shared

    def _bring_back(self, kept: Context) -> None:
        """Have the cache hold `kept`; what it holds now is put aside."""
        self._put_aside()
        for tensor, rows in zip(self._state.of_role(CACHE).values(), kept.rows, strict=True):
            whole = self.model.device.read(tensor)
            whole[:, : rows.shape[1]] = rows
            self.model.device.write(tensor, whole)
        self._ids = list(kept.ids)

    def _put_aside(self) -> None:
        """Keep the cache as it is on the host."""
        rows = tuple(
            self.model.device.read(tensor)[:, : len(self._ids)].copy() for tensor in self._state.of_role(CACHE).values()
        )
        self._contexts.keep(Context(tuple(self._ids), rows))

    # ---- weights and memory

    def refresh(self) -> None:
        """Take note that the weights have changed; what was read stays read with the old ones."""
        adapters = dict(self.model.network.adapters)
        if adapters != self._adapters:  # other matrices, so other programs
            self._forget_programs()
            self._adapters = adapters
        self._ids, self._must_return = [], False
        self._contexts.clear()
        if self._passes.has_preparation:
            self._executable("preparation").run({})
        if self._weights.slabs:
            packing = self.model.device.compile(self._passes.packing())
            packing.run({})
            packing.close()

    def close(self) -> None:
        """Give all memory back."""
        self._forget_programs()
        self.model.device.release(self._slabs)

    # ---- inside

    def _read(self, ids, give: str, progress=None, cancelled=None) -> Executable:
        """Read `ids` in pieces; the last of them gives what is asked for."""
        flat = self._checked(ids)
        self._return()
        done, total, executable = 0, len(flat), None
        while done < total:
            if cancelled is not None and cancelled():
                raise Cancelled(f"The reading of a text was cancelled after {done} of {total} tokens.")
            left = total - done
            size = next((chunk for chunk in self._chunks if chunk <= left), min(left, self._few))
            executable = self._executable("read", size, give if size == left else "nothing")
            self._run(executable, flat[done : done + size])
            done += size
            if progress is not None:
                progress(done, total)
        return executable

    def _run(self, executable: Executable, ids: np.ndarray, more: dict[str, np.ndarray] | None = None) -> None:
        """Read `ids` by a program of that many tokens, with `more` inputs."""
        self._make_room(len(ids))
        executable.run({"ids": ids} | self._places(executable, len(ids)) | (more or {}))
        self._note(ids.tolist())

    def top_pass(self, ids: Sequence[int] | np.ndarray) -> tuple[Executable, dict[str, np.ndarray]]:
        """What `read_top` would run next for `ids`, at most a chunk of them, with its inputs; nothing is read yet."""
        self._return()
        executable = self._executable("read", len(ids), "top")
        return executable, {"ids": self._checked(ids)} | self._places(executable, len(ids))

    def _places(self, executable: Executable, tokens: int) -> dict[str, np.ndarray]:
        """Which keys the next `tokens` tokens see, and their rotations."""
        if "reach" not in executable.plan.program.inputs:
            return {}
        own = np.arange(tokens)
        last = self.position + own + 1
        window = self.model.config.attention_window
        first = np.maximum(last - window, 0) if window else np.zeros(tokens)
        reach = np.stack([own, first, last], axis=1).astype(np.int32)
        rotations = self.model.config.rotations(self.position + own)
        return {"reach": reach} | ({} if rotations is None else {"rotations": rotations})

    def _make_room(self, tokens: int) -> None:
        """Save what is about to be overwritten if it is long enough to be worth it; refuse a full cache."""
        if not self._state.has_cache:
            return
        self._refuse_too_many(tokens)
        if len(self._ids) - self.position > WORTH_KEEPING:
            self._put_aside()
        del self._ids[self.position :]

    def _refuse_too_many(self, tokens: int) -> None:
        if self._state.has_cache and self.position + tokens > self._state.context:
            raise InputError(
                f"The text has more than {self._state.context} tokens, which is all that this model looks back on.",
                "Ask with less text before the cursor.",
            )

    def _note(self, ids: list[int]) -> None:
        self.position += len(ids)
        if self._state.has_cache:
            self._ids += map(int, ids)

    def _checked(self, ids: Sequence[int] | np.ndarray) -> np.ndarray:
        return checked_ids(np.asarray(ids)[None], self.model.config, least=1)[0]

    def _executable(self, kind: str, *options, beside: Executable | None = None) -> Executable:
        """A compiled program, made when first needed; in the memory that `beside` works in, if there is room."""
        key, device = (kind, *options), self.model.device
        if key not in self._executables:
            program = getattr(self._passes, kind)(*options)
            self._executables[key] = device.compile_beside(beside, program) if beside else device.compile(program)
        return self._executables[key]

    def _forget_programs(self) -> None:
        while self._executables:
            self._executables.popitem()[1].close()

    def _host_copy(self, tensor: Tensor) -> np.ndarray:
        array = self.model.device.read(tensor) if tensor.size else np.zeros(tensor.shape, np.float32)
        array.flags.writeable = False
        return array
