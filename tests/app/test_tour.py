"""The simulated user and the camera of packaging/'s tour, and what it prints when a scene fails.

The scenes themselves are in `test_story`.
"""

from __future__ import annotations

import sys
from itertools import count

import pytest
import take_tour
from PySide6.QtWidgets import QPushButton
from tour import repository_scenes, scenes, simulated_user
from tour.camera import Camera
from tour.simulated_user import SceneFailed, SimulatedUser

from app.window.complete.editor import CodeEditor
from app.window.complete.keys import GhostKeys


@pytest.fixture
def visitor(open_window, fake_engine, monkeypatch):
    """A simulated user with little patience, and an open window."""
    monkeypatch.setattr(simulated_user, "PATIENCE", 0.2)
    desktop = open_window()
    return SimulatedUser(desktop.application, desktop.window), desktop


def test_waiting_ends_in_words_when_nothing_moves(visitor):
    with pytest.raises(SceneFailed, match="reach the moon: no progress"):
        visitor[0].until(lambda: False, "reach the moon")


def test_waiting_goes_on_while_something_moves_and_not_once_it_is_broken(visitor):
    turns, moved = count(), count()
    visitor[0].until(lambda: next(turns) > 40, "get there", lambda: next(moved))
    assert next(turns) > 40
    with pytest.raises(SceneFailed, match="get there: the disk is full"):
        visitor[0].until(lambda: False, "get there", broken=lambda: "the disk is full")


def test_a_button_that_cannot_be_pressed_is_named(visitor, qtbot):
    button = QPushButton("Launch")
    qtbot.addWidget(button)
    button.setEnabled(False)
    button.show()
    with pytest.raises(SceneFailed, match="'Launch'"):
        visitor[0].click(button)


def test_code_is_typed_as_it_is_meant_whatever_the_editor_indents(visitor, qtbot):
    user, desktop = visitor
    editor = CodeEditor(GhostKeys(desktop.settings))
    qtbot.addWidget(editor)
    editor.show()
    text = "def one():\n    if two:\n        return 3\n\n\nclass Four:\n    five = 6"
    user.type_code(editor, text)
    assert editor.toPlainText() == text


def test_pictures_are_numbered_and_light_and_dark_take_turns(visitor, tmp_path):
    user, desktop = visitor
    camera = Camera(desktop, user, tmp_path, both=True)
    camera.take("first", both=True)
    camera.take("second")
    camera.take_in((1024, 700), "second")
    camera.take("third", both=True)
    assert [path.name for path in camera.pictures] == [
        "01-first-dark.png",
        "01-first-light.png",
        "02-second-light.png",
        "02-second-light-1024.png",
        "03-third-light.png",
        "03-third-dark.png",
    ]
    assert all(path.stat().st_size > 1000 for path in camera.pictures)
    brief = Camera(desktop, user, tmp_path / "brief", both=False)
    with pytest.raises(SceneFailed, match="could not be written"):
        brief.take("first", both=True)


def test_a_scene_that_fails_is_named_and_ends_the_tour(fake_engine, data_folder, qapp, monkeypatch, tmp_path, capsys):
    def lost(_tour) -> str:
        raise SceneFailed("the bridge is closed")

    monkeypatch.setattr(scenes, "SCENES", (("First", repository_scenes.start), ("Second", lost), ("Third", lost)))
    assert take_tour.main(["--out", str(tmp_path / "tour")]) == 1
    shown = capsys.readouterr()
    assert "First: A processor, " in shown.out and "2 pictures" in shown.out
    assert shown.err.strip().endswith("Second: the bridge is closed")


def test_the_tour_names_a_library_that_qt_misses(monkeypatch, tmp_path, capsys):
    monkeypatch.setitem(sys.modules, "PySide6.QtWidgets", None)  # importing it is an ImportError
    assert take_tour.main(["--out", str(tmp_path / "tour")]) == 2
    assert "Qt" in capsys.readouterr().err and list(tmp_path.iterdir()) == []
