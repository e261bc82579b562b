"""`codecoil open FOLDER`: the window on this folder."""

from __future__ import annotations

import pytest


@pytest.fixture
def folders(tmp_path):
    """Two folders of source code."""
    for name in ("last", "named"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.py").write_text("x = 1\n")
    return tmp_path / "last", tmp_path / "named"


def test_the_named_folder_is_opened_and_not_the_last_one(open_window, qtbot, folders):
    last, named = folders
    first = open_window(root=last)
    qtbot.waitUntil(lambda: first.state.repository.corpus is not None)
    first.close()
    second = open_window(root=named)
    qtbot.waitUntil(lambda: second.state.repository.corpus is not None)
    assert second.state.repository.root == str(named)


def test_a_folder_that_is_not_there_is_refused_before_a_window_opens(run_program, tmp_path, capsys):
    assert run_program(["open", str(tmp_path / "nowhere")]) == 2
    assert "nowhere does not exist" in capsys.readouterr().err
