"""Checkpoints as their page shows them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from engine.checkpoints.store import SNAPSHOT_TAG

if TYPE_CHECKING:
    import numpy as np

    from engine.session.recitation.audit import RecitedLine


@dataclass(frozen=True)
class CheckpointRow:
    """One row of the table.  `problem`: why it cannot be used."""

    id: str
    name: str
    created: str = ""  # ISO 8601, UTC
    kind: str = ""  # whole, delta
    mode: str = ""
    base: str = ""  # id; empty for a full model
    base_name: str = ""
    parents: tuple[str, ...] = ()  # ids
    run: str = ""
    step: int = 0
    held_out_loss: float | None = None
    held_out_before: float | None = None
    nbytes: int = 0
    tags: tuple[str, ...] = ()
    pinned: bool = False
    note: str = ""
    precision: str = "float32"
    repository: str = ""  # the folder it was trained on, where that is known
    recited: tuple[str, ...] = ()  # what was measured of what the weights recite, in sentences
    built_in: bool = False  # the model that the program came with, as training took it into the store
    problem: str = ""

    @property
    def is_snapshot(self) -> bool:
        """Whether it was kept along a run, and is not its result."""
        return SNAPSHOT_TAG in self.tags


@dataclass(frozen=True)
class TrashRow:
    """A checkpoint in the trash; `key` names it there."""

    key: str
    id: str
    name: str
    deleted: str  # ISO 8601, UTC
    snapshots: tuple[str, ...] = ()  # keys of those along a run that went with its result


@dataclass(frozen=True, eq=False)
class HistoryCurve:
    """The losses of a checkpoint's run, to be drawn."""

    id: str
    name: str
    steps: np.ndarray
    losses: np.ndarray
    held_out_steps: np.ndarray
    held_out_losses: np.ndarray


@dataclass(frozen=True, eq=False)
class CheckpointDetails:
    """All about one checkpoint."""

    row: CheckpointRow
    card: str  # markdown
    options: dict[str, Any] = field(default_factory=dict)
    metrics: dict[str, float] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)
    files: tuple[tuple[str, int], ...] = ()  # name and bytes
    lineage: tuple[CheckpointRow, ...] = ()  # itself, its base, and so on
    dependants: tuple[CheckpointRow, ...] = ()
    curve: HistoryCurve | None = None
    parameters: int = 0
    folder: str = ""


@dataclass(frozen=True, eq=False)
class HeatMapView:
    """One measure of drift by layer (rows) and kind of tensor (columns); NaN where a layer has no such tensor.

    `labels` and `short`: names for people, by kind and by name outside the layers.
    """

    measure: str
    layers: tuple[int, ...]
    kinds: tuple[str, ...]
    values: np.ndarray
    outside: dict[str, float]
    labels: dict[str, str] = field(default_factory=dict)
    short: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class ComparisonView:
    """How much two checkpoints differ."""

    first: CheckpointRow
    second: CheckpointRow
    heat_maps: dict[str, HeatMapView]  # by measure
    relative_l2: float
    cosine: float
    changed_share: float
    options: tuple[tuple[str, str, str], ...] = ()  # name, first, second: only what differs
    metrics: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True)
class MergeView:
    """A blend of two.  Losses are None where nothing was measured; `child` is empty for a trial."""

    first: str
    second: str
    weight: float
    child: str = ""
    child_name: str = ""
    first_loss: float | None = None
    second_loss: float | None = None
    child_loss: float | None = None


@dataclass(frozen=True)
class PrecisionLine:
    """What one precision would cost a checkpoint."""

    precision: str
    words: str
    experimental: bool
    nbytes: int
    share: float
    largest_error: float | None = None
    held_out_loss: float | None = None
    problem: str = ""


@dataclass(frozen=True)
class VerifyView:
    """What is wrong with a checkpoint; no findings: it is intact."""

    id: str
    name: str
    findings: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExportView:
    """What was written where."""

    id: str
    path: str
    format: str
    nbytes: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class RecitationView:
    """What the weights of a checkpoint recite of the code that they learned.  `problem`: why that is unknown."""

    id: str
    words: tuple[str, ...] = ()
    lines: tuple[RecitedLine, ...] = ()
    problem: str = ""


@dataclass(frozen=True)
class ImportedResult:
    """The result of a hand-off, taken back and scored; bits per byte of its base and of itself.

    `problem`: why it has no scorecard, as the end of a sentence.
    """

    row: CheckpointRow
    before: float | None = None
    after: float | None = None
    problem: str = ""


@dataclass(frozen=True)
class LineageNode:
    """One checkpoint in the drawn tree: under its base, or under its first parent where it is whole."""

    row: CheckpointRow
    parent: str  # id; empty for a root
    depth: int


@dataclass(frozen=True)
class DiskUseView:
    """Bytes of the data folder by what they are for; `free` of the disk that it is on."""

    checkpoints: int = 0
    trash: int = 0
    leftovers: int = 0  # of interrupted writes
    runs: int = 0  # what interrupted runs need to be resumed
    memory: int = 0  # of all repositories
    tokens: int = 0
    lists: int = 0  # files, choices and held-out splits of all repositories
    downloads: int = 0  # base models that were fetched in part
    sample: int = 0
    other: int = 0
    free: int = 0

    @property
    def total(self) -> int:
        return sum(vars(self).values()) - self.free


@dataclass(frozen=True)
class Listing:
    """All rows, what is in the trash, and the tree."""

    rows: tuple[CheckpointRow, ...] = ()
    trash: tuple[TrashRow, ...] = ()
    lineage: tuple[LineageNode, ...] = ()
    has_starter: bool = False  # whether this program came with a model
