"""What a session is about to do."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from engine.errors import CheckpointError
from engine.model.storage import AUTO, check_can_pack
from engine.option_info import check_number
from engine.safe_reading import check_name
from engine.train.options import TrainingOptions

MOST_SNAPSHOTS = 1000


@dataclass(frozen=True)
class SessionPlan:
    """A folder to learn, and how.

    `base`: name or id of a checkpoint, or a Hugging Face folder; "" is the built-in starter model or, without one, a
    new small model.  `changed`: the files that an incremental run learns, with older ones mixed in; with a checkpoint
    in `changed_since`, by default those that changed since it, which is then also the default base.  `timeline`: how
    many snapshots during the run are kept as checkpoints.
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
        if self.options.base_precision != AUTO:
            check_can_pack(self.options.mode, self.options.base_precision)

    @property
    def incremental(self) -> bool:
        return bool(self.changed or self.changed_since)


def repository_name(root: Path) -> str:
    """The repository's name, if checkpoints can be named after it."""
    try:
        check_name(f"new model for {root.name} #1000000")
    except CheckpointError:
        return "repository"
    return root.name
