"""Changed lines: counted from hashes, which tell nothing about the lines."""

from __future__ import annotations

import numpy as np
import pytest

from app.workers.line_hashes import KEPT, LineHashes, changed_lines, hashes_of
from app.workers.speeds import Speed, Speeds


def hashes(tmp_path, text: str) -> np.ndarray:
    (tmp_path / "f").write_text(text)
    return hashes_of(tmp_path / "f")


@pytest.mark.parametrize(
    ("before", "after", "count"),
    [
        ("a\nb\nc\n", "a\nb\nc\n", 0),
        ("a\nb\nc\n", "c\na\nb\n", 0),  # moved
        ("a\nb\nc\n", "a\n  b\n\nc\n", 0),  # indented, a blank line
        ("a\nb\nc\n", "a\nB\nc\n", 1),
        ("a\nb\n", "a\nb\nc\nd\n", 2),
        ("a\nb\nc\n", "a\n", 2),
        ("a\na\n", "a\na\na\n", 1),
        ("", "a\nb\n", 2),
    ],
)
def test_counts(tmp_path, before, after, count):
    assert changed_lines(hashes(tmp_path, before), hashes(tmp_path, after)) == count


def test_they_are_kept_for_a_checkpoint(tmp_path):
    root = tmp_path / "root"
    root.mkdir()
    (root / "a.py").write_text("one\ntwo\n")
    (root / "b.py").write_text("three\n")
    LineHashes(tmp_path / "kept").keep("c1", root, ["a.py", "b.py"])
    (root / "a.py").write_text("one\ntwo\nmore\n")
    again = LineHashes(tmp_path / "kept")
    assert again.count("c1", root, ["a.py", "b.py"]) == 1
    assert again.count("unknown", root, ["a.py"]) == 3
    assert not list((tmp_path / "kept").glob(".*"))


def test_old_ones_are_let_go_and_damaged_ones_passed_over(tmp_path):
    (tmp_path / "a.py").write_text("one\n")
    for n in range(KEPT + 2):
        LineHashes(tmp_path / "kept").keep(f"c{n}", tmp_path, ["a.py"])
    left = sorted(path.name for path in (tmp_path / "kept").iterdir())
    assert len(left) == KEPT
    (tmp_path / "kept" / left[-1]).write_bytes(b"PK\3\4 damaged")
    assert LineHashes(tmp_path / "kept").count(left[-1][6:-4], tmp_path, ["a.py"]) == 1


def test_a_speed_is_remembered_and_scaled(tmp_path):
    speeds = Speeds(tmp_path)
    assert speeds.guess("cpu", "lora", 1000) == 0.0 and speeds.seconds_for_changes(100, "lora") == 0.0
    speeds.keep(Speed("cpu", "full", 1000, 500.0))
    speeds.keep(Speed("cpu", "full", 1000, 400.0))
    assert Speeds(tmp_path).guess("cpu", "full", 1000) == 400.0
    assert Speeds(tmp_path).guess("cpu", "full", 2000) == pytest.approx(200.0)
    assert Speeds(tmp_path).guess("other", "full", 1000) == 0.0
    (tmp_path / "speeds.json").write_text("[{]")
    assert Speeds(tmp_path).guess("cpu", "full", 1000) == 0.0
