"""Which lines the tree has, and how they hang together."""

from __future__ import annotations

from app.values.checkpoints import CheckpointRow, LineageNode
from app.window.checkpoints.family import family


def node(id: str, parent: str = "", depth: int = 0, **more) -> LineageNode:
    return LineageNode(CheckpointRow(id, f"name {id}", kind="whole", **more), parent, depth)


TREE = (
    node("a"),
    node("b", "a", 1),
    node("c", "b", 2),
    node("s", "b", 2, tags=("timeline",)),
    node("d", "a", 1),
    node("m", "d", 2, mode="merge", parents=("d", "c")),
    node("z"),
)


def drawn(lines) -> list[str]:
    """Each line as a drawing of letters."""
    found = []
    for line in lines:
        rails = "".join("| " if runs_on else "  " for runs_on in line.rails)
        found.append(rails + ("" if not line.depth else "`-" if line.last else "+-") + line.row.id)
    return found


def test_the_whole_forest_without_snapshots():
    lines, lost = family(TREE, "")
    assert drawn(lines) == ["a", "+-b", "| `-c", "`-d", "  `-m", "z"] and lost == 0
    assert lines[4].besides == "name c"


def test_a_family_is_what_it_comes_from_and_what_came_of_it():
    assert drawn(family(TREE, "b")[0]) == ["a", "`-b", "  `-c"]
    assert drawn(family(TREE, "m")[0]) == ["a", "`-d", "  `-m"]
    assert drawn(family(TREE, "z")[0]) == ["z"]


def test_a_snapshot_is_shown_where_it_is_the_one():
    assert drawn(family(TREE, "s")[0]) == ["a", "`-b", "  `-s"]


def test_what_is_too_much_is_counted_and_the_chosen_one_stays():
    crowd = (node("a"), *(node(f"k{i}", "a", 1) for i in range(100)))
    lines, lost = family(crowd, "", 10)
    assert len(lines) == 10 and lost == 91
    lines, _ = family((*crowd, node("last", "a", 1)), "a", 10)
    assert lines[0].row.id == "a" and len(lines) == 10
