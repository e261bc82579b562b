"""Which lines the family tree of a checkpoint has: its ancestors, itself and its descendants.  No Qt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from app.values.checkpoints import CheckpointRow, LineageNode

MOST = 60  # lines; a base with hundreds of descendants is cut there


@dataclass(frozen=True)
class Line:
    """One line of the tree.  `rails`: at which depths above its own a vertical line continues downwards."""

    row: CheckpointRow
    depth: int
    last: bool  # of its parent's children
    rails: tuple[bool, ...]
    besides: str = ""  # name of the other parent of a merge


def family(nodes: Sequence[LineageNode], chosen: str, most: int = MOST) -> tuple[tuple[Line, ...], int]:
    """The lines around the checkpoint `chosen`, or all of them for ""; and how many were left out.

    Snapshots of runs are left out unless one is chosen: they all have the same base and add nothing here.
    """
    known = {node.row.id: node for node in nodes}
    wanted = [node for node in nodes if not node.row.is_snapshot or node.row.id == chosen]
    if chosen in known:
        above = set(_ancestors(known, chosen))
        wanted = [node for node in wanted if node.row.id in above or chosen in _ancestors(known, node.row.id)]
    lost = max(0, len(wanted) - most)
    if lost:
        keep = {node.row.id for node in wanted[:most]} | {chosen}
        wanted = [node for node in wanted if node.row.id in keep]
    return _lines(wanted, {node.row.id: node.row.name for node in nodes}), lost


def _ancestors(known: dict[str, LineageNode], id: str) -> list[str]:
    """Itself, its parent, and so on."""
    found: list[str] = []
    while id in known and id not in found:
        found.append(id)
        id = known[id].parent
    return found


def _lines(nodes: Sequence[LineageNode], names: dict[str, str]) -> tuple[Line, ...]:
    shown = {node.row.id for node in nodes}
    last_of: dict[str, str] = {}
    for node in nodes:
        last_of[node.parent if node.parent in shown else ""] = node.row.id
    rails: dict[str, tuple[bool, ...]] = {"": ()}
    lines = []
    for node in nodes:
        parent = node.parent if node.parent in shown else ""
        last = last_of[parent] == node.row.id
        above = rails[parent]
        rails[node.row.id] = (*above, not last) if parent else ()
        others = [names.get(id, "a deleted checkpoint") for id in node.row.parents if id != node.parent]
        depth = len(above) + 1 if parent else 0
        lines.append(Line(node.row, depth, last, above, ", ".join(others) if node.row.mode == "merge" else ""))
    return tuple(lines)
