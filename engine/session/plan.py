"""What a session is about to do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from engine.errors import CheckpointError
from engine.option_info import check_number
from engine.safe_reading import check_name
from engine.train.options import TrainingOptions

MOST_SNAPSHOTS = 1000


@dataclass(frozen=True)
class SessionPlan:
    """A folder to learn, and how.

    `base`: name or id of a checkpoint, or a Hugging Face folder; "" is the built-in starter model, or, in a program
    that has none, a new small model.  `changed`: paths of an incremental run, which learns these files with older ones
    mixed in; with `changed_since`, a checkpoint, they are what changed since that (then also the base, unless one is
    named).  `timeline`: so many snapshots along the run are kept as checkpoints.
    """

    root: Path
    data_folder: Path
    options: TrainingOptions
    base: str = ""
    changed: tuple[str, ...] = ()
    changed_since: str = ""
    timeline: int = 0

    def __post_init__(self) -> None:
        check_number("timeline", self.timeline, 0, MOST_SNAPSHOTS, whole=True)

    @property
    def incremental(self) -> bool:
        return bool(self.changed or self.changed_since)


def repository_name(root: Path) -> str:
    """The repository's name, as far as checkpoints may be called after it."""
    try:
        check_name(f"new model for {root.name} #1000000")
    except CheckpointError:
        return "repository"
    return root.name
