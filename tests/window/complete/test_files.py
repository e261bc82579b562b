"""Files of the repository in the editor: found, opened, left and come back to."""

from __future__ import annotations

import os

import pytest
from PySide6.QtCore import Qt

from app.state.settings import Settings
from app.window.complete.file_access import MOST_BYTES, read_text
from tests.window.complete.script import PATH, TEXT
from tests.window.stage import open_repository, press

CTRL = Qt.KeyboardModifier.ControlModifier


@pytest.fixture
def files(application, tmp_path):
    """A folder with files in it, as the repository that is open."""
    from app.values.repository import FileRow
    from tests.window.stage import corpus

    root = tmp_path / "orbit"
    names = ("orbit/pass.py", "orbit/api/beam.py", "web/panel.ts", "notes.md")
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"# {name}\nvalue = 1\n", encoding="utf-8")
    (root / "logo.bin").write_bytes(b"a\0b")
    rows = (*(FileRow(name, "Python", 20, 5, True) for name in names), FileRow("logo.bin", "", 3, None, True))
    open_repository(application, corpus(rows, str(root)))
    return root


def test_a_file_is_found_by_parts_of_its_path(page, files, qtbot):
    qtbot.keyClick(page.editor, Qt.Key.Key_P, CTRL)
    opener = page.opener
    qtbot.waitUntil(opener.field.hasFocus)
    assert opener.model.rowCount() == 5
    qtbot.keyClicks(opener.field, "orbit py")
    assert opener.model.stringList() == ["orbit/pass.py", "orbit/api/beam.py"]
    qtbot.keyClick(opener.field, Qt.Key.Key_Down)
    qtbot.keyClick(opener.field, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: page.card.path == "orbit/api/beam.py")
    assert not opener.isVisible() and page.editor.hasFocus()
    assert (
        page.editor.toPlainText() == "# orbit/api/beam.py\nvalue = 1\n" and page.suggester.path == "orbit/api/beam.py"
    )
    qtbot.keyClick(page.editor, Qt.Key.Key_P, CTRL)
    qtbot.keyClicks(opener.field, "zzz")
    assert opener.model.rowCount() == 0 and opener.words.text()
    qtbot.keyClick(opener.field, Qt.Key.Key_Escape)
    assert not opener.isVisible() and page.card.path == "orbit/api/beam.py"


def test_edits_that_are_kept_unsaved_are_there_when_one_comes_back(page, files, qtbot):
    page.open_file("orbit/pass.py")
    qtbot.waitUntil(lambda: page.card.path == "orbit/pass.py")
    qtbot.keyClicks(page.editor, "mine ")
    assert page.card.revert_button.isVisible()
    page.open_file("notes.md")
    press(qtbot, page.saving.keep_button)
    qtbot.waitUntil(lambda: page.card.path == "notes.md")
    assert not page.card.revert_button.isVisible()
    page.open_file("orbit/pass.py")
    assert page.editor.toPlainText().startswith("mine # orbit") and page.card.revert_button.isVisible()
    assert (files / "orbit/pass.py").read_text().startswith("# orbit/pass.py")
    press(qtbot, page.card.revert_button)
    qtbot.waitUntil(lambda: page.editor.toPlainText().startswith("# orbit/pass.py"))
    assert not page.card.has_unsaved
    page.editor.undo()
    assert page.editor.toPlainText().startswith("mine # orbit") and page.card.has_unsaved


def test_a_new_text_has_no_file_and_is_kept(page, files, qtbot):
    qtbot.keyClick(page.editor, Qt.Key.Key_N, CTRL)
    assert page.card.path == "" and page.editor.toPlainText() == "" and page.card.name.words == "Scratch text"
    qtbot.keyClicks(page.editor, "y = 2")
    page.open_file("notes.md")
    qtbot.waitUntil(lambda: page.card.path == "notes.md")
    press(qtbot, page.new_button)
    assert page.editor.toPlainText() == "y = 2"
    press(qtbot, page.new_button)
    assert page.editor.toPlainText() == ""
    page.editor.undo()
    assert page.editor.toPlainText() == "y = 2"


@pytest.mark.parametrize(("name", "words"), [("logo.bin", "logo.bin"), ("gone.py", "gone.py")])
def test_what_cannot_be_shown_is_said_and_changes_nothing(page, files, name, words, qtbot):
    page.card.show_text(str(files), PATH, TEXT, 0)
    page.open_file(name)
    qtbot.waitUntil(page.message.isVisible)
    assert words in page.message.words.text() and page.card.path == PATH and page.editor.toPlainText() == TEXT


def test_a_file_too_large_is_refused(tmp_path):
    (tmp_path / "big.py").write_bytes(b"x" * (MOST_BYTES + 1))
    assert "too large" in read_text(str(tmp_path), "big.py")[1]
    (tmp_path / "dos.py").write_bytes(b"\xef\xbb\xbfa\r\nb\r\n")
    assert read_text(str(tmp_path), "dos.py")[0].text == "a\nb\n"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes in folders")
def test_a_pipe_that_nobody_writes_to_is_refused_at_once(page, files, qtbot):
    os.mkfifo(files / "pipe.py")
    page.open_file("pipe.py")
    qtbot.waitUntil(page.message.isVisible)
    assert "pipe.py" in page.message.words.text()


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="this system has no links")
def test_a_link_out_of_the_repository_is_not_opened(tmp_path):
    (tmp_path / "secret").write_text("password")
    (tmp_path / "repository").mkdir()
    (tmp_path / "repository" / "link.py").symlink_to(tmp_path / "secret")
    text, problem = read_text(str(tmp_path / "repository"), "link.py")
    assert text is None and "link.py" in problem


def test_no_folder_is_open(page, application, qtbot):
    application.repository.corpus = None
    page.on_open_wanted()
    assert "Choose a folder" in page.message.words.text() and not page.opener.isVisible()


def test_the_place_is_remembered(page, files, application, qtbot):
    from app.window.complete.page import CompletePage

    page.open_file("notes.md")
    qtbot.waitUntil(lambda: page.card.path == "notes.md")
    page.editor.moveCursor(page.editor.textCursor().MoveOperation.End)
    page.folds.toggle("compare")
    page.keep_place()
    application.settings.save()
    application.settings = Settings(application.data_folder, application)  # as the next start reads it
    other = CompletePage(application)
    qtbot.addWidget(other)
    qtbot.waitUntil(lambda: other.card.path == "notes.md")
    assert other.editor.textCursor().position() == page.editor.textCursor().position()
    assert not other.folds.is_open("compare") and other.sides.isHidden() and not other.drawer.timeline.isHidden()
    other.keep_place()
