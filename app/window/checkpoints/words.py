"""Text about checkpoints: dates, losses, sizes.  No Qt."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from app.values.checkpoints import CheckpointRow
from app.values.words import counted, nbytes

NOTHING = "–"
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
FIELDS = {
    "held_out_loss": "held-out loss",
    "held_out_before": "held-out loss before",
    "seconds": "training time, s",
    "root": "folder",
}
KINDS = {"whole": "full model", "delta": "delta, needs its base"}


def moment(created: str) -> datetime | None:
    """An ISO timestamp of the store in local time; None if there is none."""
    try:
        return datetime.fromisoformat(created).astimezone() if created else None
    except ValueError:
        return None


def when_words(created: str, now: datetime | None = None) -> str:
    """today 14:02, yesterday 11:40, 12 Nov, 12 Nov 2023."""
    then = moment(created)
    if then is None:
        return NOTHING
    today = (now or datetime.now().astimezone()).date()
    if then.date() == today:
        return f"today {then:%H:%M}"
    if then.date() == today - timedelta(days=1):
        return f"yesterday {then:%H:%M}"
    day = f"{then.day} {MONTHS[then.month - 1]}"
    return day if then.year == today.year else f"{day} {then.year}"


def exact_when(created: str) -> str:
    """The full date: 12 Nov 2025, 11:40."""
    then = moment(created)
    return f"{then.day} {MONTHS[then.month - 1]} {then.year}, {then:%H:%M}" if then else NOTHING


def loss_words(loss: float | None) -> str:
    """A loss, or a dash if it was not measured."""
    return NOTHING if loss is None or not math.isfinite(loss) else f"{loss:.3f}"


def older_first(one: CheckpointRow, other: CheckpointRow) -> tuple[CheckpointRow, CheckpointRow]:
    """Two checkpoints in the order of their creation; a parent always comes first."""
    if other.id in (one.base, *one.parents):
        return other, one
    if one.id in (other.base, *other.parents):
        return one, other
    return (one, other) if one.created <= other.created else (other, one)


def origin_words(row: CheckpointRow, names: Mapping[str, str]) -> str:
    """What it was made from: its base, or its parents; "" if unknown.  `names`: of all checkpoints, by id."""
    if row.base_name:
        return row.base_name
    return " + ".join(names[id] for id in row.parents if id in names)


def store_words(rows: Sequence[CheckpointRow], trashed: int, free: int) -> str:
    """How many there are, and their size: "2 checkpoints and 5 snapshots of runs · 19.2 MiB · 70 GiB free on this
    disk"."""
    snapshots = sum(row.is_snapshot for row in rows)
    count = counted(len(rows) - snapshots, "checkpoint")
    parts = [
        f"{count} and {counted(snapshots, 'snapshot')} of runs" if snapshots else count,
        nbytes(sum(row.nbytes for row in rows)),
    ]
    if trashed:
        parts.append(f"{trashed:,} in the trash")
    if free:
        parts.append(f"{nbytes(free)} free on this disk")
    return " · ".join(parts)


def field_words(name: str) -> str:
    """The name of a score or an option: "held-out loss", "learning rate"."""
    from engine.train.options import OPTIONS

    known = OPTIONS[name].label.lower() if name in OPTIONS else name.replace("_", " ")
    return FIELDS.get(name, known)


def kind_words(kind: str) -> str:
    """ "full model" or "delta, needs its base"; "" for what cannot be read."""
    return KINDS.get(kind, kind)


def counted_names(names: list[str], most: int = 3) -> str:
    """a, b and 4 more."""
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"
