"""The tree of files: sums, order, filters, and what a verdict says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.values.repository import FileRow
from app.window.repository.file_tree import LEARN, LEAVE, LOSS, MIXED, NAME, SIZE, TOKENS, FileTree, verdict_words
from app.window.repository.filters import BY_YOU, CHANGED, HELD_OUT, LEARNED, LEFT_OUT, MASKED, UNKNOWN, FileFilter
from tests.window.stage import rows


def names(node) -> list[str]:
    return [child.name for child in node.children]


def test_folders_come_first_with_their_sums():
    tree = FileTree(rows())
    assert names(tree.root) == ["assets/", "orbit/", "vendor/", "web/", "README.md"]
    orbit = tree.by_path["orbit/"]
    assert (orbit.count, orbit.learned, orbit.held_out, orbit.tokens, orbit.size) == (4, 3, 1, 3500, 16000)
    assert (orbit.state, orbit.words) == (MIXED, "3 of 4 files to learn")
    assert tree.root.count == len(rows())


def test_a_chain_of_folders_is_one_row():
    tree = FileTree(rows())
    handlers = tree.by_path["orbit/api/handlers/"]
    assert handlers.name == "api/handlers/" and handlers.parent is tree.by_path["orbit/"]
    assert "orbit/api/" not in tree.by_path
    assert handlers.words == "1 file to learn, 1 held out"


def test_every_node_is_where_it_says():
    tree = FileTree(rows())
    for node in tree.nodes[1:]:
        assert tree.nodes[node.id] is node
        assert node.parent.children[node.place] is node


def test_a_folder_left_out_as_a_whole_is_one_row_without_children():
    vendor = FileTree(rows()).by_path["vendor/"]
    assert (vendor.state, vendor.children) == (LEAVE, ()) and vendor.file.path == "vendor/"


def test_order_by_any_column_keeps_folders_first():
    tree = FileTree(rows(), None, SIZE, True)
    assert names(tree.root) == ["orbit/", "assets/", "web/", "vendor/", "README.md"]
    assert names(tree.by_path["orbit/"]) == ["api/handlers/", "pass.py", "old.py"]
    assert names(FileTree(rows(), None, NAME, True).root) == ["web/", "vendor/", "orbit/", "assets/", "README.md"]
    assert names(FileTree(rows(), None, TOKENS).by_path["orbit/api/handlers/"]) == ["slot.py", "beam.py"]


def test_by_the_loss_the_worst_file_comes_first_whatever_folder_it_is_in():
    losses = {"orbit/api/handlers/beam.py": 3.0, "README.md": 1.0, "web/panel.ts": 7.0}
    worst_first = ["web/panel.ts", "orbit/api/handlers/beam.py", "README.md"]
    tree = FileTree(rows(), None, LOSS, True, losses)
    assert names(tree.root)[:3] == worst_first and len(tree.root.children) == len(rows())
    assert (tree.root.count, tree.root.learned) == (FileTree(rows()).root.count, FileTree(rows()).root.learned)
    assert names(FileTree(rows(), None, LOSS, False, losses).root)[:3] == worst_first[::-1]


@pytest.mark.parametrize(
    ("wanted", "paths"),
    [
        (FileFilter(LEARNED), ["README.md", "orbit/api/handlers/slot.py", "orbit/pass.py", "web/panel.ts"]),
        (FileFilter(HELD_OUT), ["orbit/api/handlers/beam.py"]),
        (FileFilter(LEFT_OUT), ["assets/logo.png", "orbit/old.py", "vendor/"]),
        (FileFilter(BY_YOU), ["orbit/pass.py"]),
        (FileFilter(MASKED), ["orbit/api/handlers/slot.py"]),
        (FileFilter("vendored"), ["vendor/"]),
        (FileFilter(CHANGED, changed=frozenset({"web/panel.ts"})), ["web/panel.ts"]),
        (FileFilter(language="TypeScript"), ["web/panel.ts"]),
        (FileFilter(language=UNKNOWN), ["assets/logo.png", "vendor/"]),
        (
            FileFilter(words=("orbit", "p")),
            ["orbit/api/handlers/beam.py", "orbit/api/handlers/slot.py", "orbit/old.py", "orbit/pass.py"],
        ),
        (FileFilter(LEARNED, "Python", ("slot",)), ["orbit/api/handlers/slot.py"]),
    ],
)
def test_filters(wanted, paths):
    tree = FileTree(rows(), wanted.accept())
    assert sorted(node.path for node in tree.nodes if node.file) == paths


def test_no_filter_is_no_test():
    assert FileFilter().accept() is None


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("README.md", "learn"),
        ("orbit/api/handlers/beam.py", "held out, to measure on"),
        ("orbit/api/handlers/slot.py", "learn, 2 lines emptied"),
        ("orbit/old.py", "left out: 94 % like orbit/pass.py"),
        ("orbit/pass.py", "learn, chosen by you"),
        ("vendor/", "left out: somebody else's code"),
    ],
)
def test_a_verdict_says_what_is_done_and_why(path, words):
    assert verdict_words(next(row for row in rows() if row.path == path)) == words


def test_a_verdict_of_several_parts_is_short():
    file = replace(rows()[2], masked_lines=1)
    assert verdict_words(file) == "held out, 1 line emptied"


def test_left_out_by_you_is_not_said_twice():
    row = FileRow("a.py", "Python", 1, None, False, "switched_off", "left out by you", overridden=True)
    assert verdict_words(row) == "left out by you"


def test_all_of_a_folder():
    learned = [replace(row, held_out=False) for row in rows() if row.learn]
    assert FileTree(learned).by_path["orbit/"].words == "3 files to learn"
    assert FileTree(learned).by_path["orbit/"].state == LEARN
    left = [row for row in rows() if not row.learn]
    assert FileTree(left).by_path["assets/"].words == "1 file left out"
