"""The events of a run so far, in growing arrays that the plots read directly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

FIRST_ROOM = 512


class Column:
    """A growing array of float64; `values` is a view of what is filled.  NumPy is loaded with the first number."""

    def __init__(self) -> None:
        self._room: np.ndarray | None = None
        self._count = 0

    def append(self, value: float) -> None:
        room = self._made_room()
        if self._count == len(room):
            grown = type(room)(max(2 * len(room), FIRST_ROOM), room.dtype)
            grown[: len(room)] = room
            self._room = room = grown
        room[self._count] = value
        self._count += 1

    def _made_room(self) -> np.ndarray:
        if self._room is None:
            import numpy

            self._room = numpy.empty(FIRST_ROOM)
        return self._room

    def cut(self, count: int) -> None:
        """Keep only so many; a view that was taken before is not changed by it."""
        if count < self._count:
            self._room, self._count = self._room[:count].copy(), count

    @property
    def values(self) -> np.ndarray:
        """Read-only; a later append never changes it."""
        view = self._made_room()[: self._count]
        view.flags.writeable = False
        return view

    def __len__(self) -> int:
        return self._count


@dataclass(frozen=True)
class LayerLine:
    """Statistics of one layer at one step."""

    layer: int
    gradient_rms: float
    update_ratio: float
    dead_share: float
    expert_load: tuple[float, ...] = ()  # of a mixture: the share of the tokens' choices that falls on each expert


@dataclass(frozen=True)
class Note:
    """Something the user should know."""

    step: int
    words: str
    cause: str = ""  # "over-fitting", "memory"...: a matter of the run's health; "": only to be known


class RunHistory:
    """Columns by step, evaluations, layer statistics and notes of one run.  Lives in the GUI thread."""

    def __init__(self) -> None:
        self._steps = {name: Column() for name in ("step", "loss", "rate", "gradient_norm", "tokens_per_second")}
        self._memory: dict[str, Column] = {}
        self._evaluations = {name: Column() for name in ("step", "loss")}
        self.best_step = 0
        self.layers: tuple[LayerLine, ...] = ()  # the newest statistics
        self.layers_step = 0
        self.notes: list[Note] = []
        self.checkpoints: list[tuple[int, str, str]] = []  # step, id, name: saved along the way
        self.seconds_left = 0.0
        self.progress = 0.0  # the share of the run that is done
        self.skipped_steps: list[int] = []

    # ---- reading

    step = property(lambda self: self._steps["step"].values)
    loss = property(lambda self: self._steps["loss"].values)
    rate = property(lambda self: self._steps["rate"].values)
    gradient_norm = property(lambda self: self._steps["gradient_norm"].values)
    tokens_per_second = property(lambda self: self._steps["tokens_per_second"].values)
    evaluation_step = property(lambda self: self._evaluations["step"].values)
    evaluation_loss = property(lambda self: self._evaluations["loss"].values)

    @property
    def memory(self) -> dict[str, np.ndarray]:
        """Bytes by kind, one value a step, each as long as `step`."""
        return {kind: column.values for kind, column in self._memory.items()}

    @property
    def begin_loss(self) -> float | None:
        """Held-out loss at step 0."""
        steps = self.evaluation_step
        return float(self.evaluation_loss[0]) if len(steps) and steps[0] == 0 else None

    def __len__(self) -> int:
        return len(self._steps["step"])

    # ---- filling

    def add(self, event: object) -> None:
        """Add one event of the trainer; kinds that no plot shows are skipped."""
        add = getattr(self, f"_add_{getattr(event, 'event', '')}", None)
        if add is not None:
            add(event)

    def _add_step(self, event) -> None:
        self._take_back(self._steps, event.step, *self._memory.values())
        self.skipped_steps = [step for step in self.skipped_steps if step < event.step]
        values = (event.step, event.loss, event.learning_rate, event.gradient_norm, event.tokens_per_second)
        for column, value in zip(self._steps.values(), values, strict=True):
            column.append(value)
        for kind in event.memory:
            if kind not in self._memory:
                self._memory[kind] = column = Column()
                for _ in range(len(self) - 1):
                    column.append(0.0)
        for kind, column in self._memory.items():
            column.append(event.memory.get(kind, 0))
        self.seconds_left, self.progress = event.seconds_left, event.progress
        if not event.applied:
            self.skipped_steps.append(event.step)

    @staticmethod
    def _take_back(columns: dict[str, Column], step: int, *others: Column) -> None:
        """A step that is taken again, after the device was lost, replaces what was there from it on."""
        steps = columns["step"].values
        if len(steps) and steps[-1] >= step:
            count = int(steps.searchsorted(step))
            for column in (*columns.values(), *others):
                column.cut(count)

    def _add_evaluation(self, event) -> None:
        self._take_back(self._evaluations, event.step)
        self._evaluations["step"].append(event.step)
        self._evaluations["loss"].append(event.held_out_loss)
        if event.best:
            self.best_step = event.step

    def _add_layers(self, event) -> None:
        self.layers_step = event.step
        self.layers = tuple(
            LayerLine(line.layer, line.gradient_rms, line.update_ratio, line.dead_share, line.expert_load)
            for line in event.layers
        )

    def _add_note(self, event) -> None:
        self.notes.append(Note(event.step, event.text, event.cause))

    def _add_checkpoint(self, event) -> None:
        self.checkpoints.append((event.step, event.checkpoint, event.name))
