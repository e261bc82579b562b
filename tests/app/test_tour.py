"""The tour's hands and camera, and what it says where a station is not reached.  The stations: `test_story`."""

from __future__ import annotations

from itertools import count

import pytest
from PySide6.QtWidgets import QPushButton

from app.tour import guide, hands, reading
from app.tour.camera import Camera
from app.tour.hands import Hands, StationMissed
from app.window.complete.editor import CodeEditor
from app.window.complete.keys import GhostKeys


@pytest.fixture
def visitor(open_window, fake_engine, monkeypatch):
    """Hands with little patience, before an open window."""
    monkeypatch.setattr(hands, "PATIENCE", 0.2)
    desktop = open_window()
    return Hands(desktop.application, desktop.window), desktop


def test_waiting_ends_in_words_when_nothing_moves(visitor):
    with pytest.raises(StationMissed, match="could not reach the moon: nothing moved for 0 seconds"):
        visitor[0].until(lambda: False, "reach the moon")


def test_waiting_goes_on_while_something_moves_and_not_once_it_is_broken(visitor):
    turns, moved = count(), count()
    visitor[0].until(lambda: next(turns) > 40, "get there", lambda: next(moved))
    assert next(turns) > 40
    with pytest.raises(StationMissed, match="could not get there: the disk is full"):
        visitor[0].until(lambda: False, "get there", broken=lambda: "the disk is full")


def test_a_button_that_cannot_be_pressed_is_named(visitor, qtbot):
    button = QPushButton("Launch")
    qtbot.addWidget(button)
    button.setEnabled(False)
    button.show()
    with pytest.raises(StationMissed, match="press 'Launch'"):
        visitor[0].click(button)


def test_code_is_typed_as_it_is_meant_whatever_the_editor_indents(visitor, qtbot):
    the_hands, desktop = visitor
    editor = CodeEditor(GhostKeys(desktop.settings))
    qtbot.addWidget(editor)
    editor.show()
    text = "def one():\n    if two:\n        return 3\n\n\nclass Four:\n    five = 6"
    the_hands.type_code(editor, text)
    assert editor.toPlainText() == text


def test_pictures_are_numbered_and_light_and_dark_take_turns(visitor, tmp_path):
    the_hands, desktop = visitor
    camera = Camera(desktop, the_hands, tmp_path, both=True)
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
    brief = Camera(desktop, the_hands, tmp_path / "brief", both=False)
    with pytest.raises(StationMissed, match="could not be written"):
        brief.take("first", both=True)


def test_a_station_that_is_missed_is_named_and_ends_the_tour(run_program, fake_engine, monkeypatch, tmp_path, capsys):
    def lost(_tour) -> str:
        raise StationMissed("the bridge is closed")

    monkeypatch.setattr(guide, "STATIONS", (("First", reading.start), ("Second", lost), ("Third", lost)))
    assert run_program(["tour", "--out", str(tmp_path / "tour")]) == 1
    told = capsys.readouterr()
    assert "First: A processor, " in told.out and "2 pictures" in told.out
    assert told.err.strip().endswith("codecoil: Second: the bridge is closed")
