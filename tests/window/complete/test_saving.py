"""Saving: the bytes of the file, what is asked before something is lost, and what happens when the disk says no."""

from __future__ import annotations

import os
import stat
import sys

import pytest
from PySide6.QtCore import Qt

from app.window.complete import file_access
from app.window.complete.file_access import CHANGED, FAILED, GONE, KEPT, SAVED, SaveRequest, save
from app.window.complete.file_text import FileForm, decode, encode
from tests.window.complete.test_files import files  # noqa: F401  (fixture)
from tests.window.stage import corpus, open_repository, press

CTRL = Qt.KeyboardModifier.ControlModifier
PATH = "orbit/pass.py"


@pytest.fixture
def edited(page, files, qtbot):  # noqa: F811
    """The page with an edited file; gives the file."""
    page.open_file(PATH)
    qtbot.waitUntil(lambda: page.card.path == PATH)
    page.editor.setFocus()
    qtbot.keyClicks(page.editor, "mine ")
    return files / PATH


# ---- the file


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"a\nb",
        b"a\r\nb\r\n",
        b"a\rb\r",
        b"\xef\xbb\xbfa\r\nb\n",
        b"a\r\nb\nc\r\nd\n",
        "gr\xfcn\n".encode("latin-1"),
        b"nbsp \xc2\xa0 end\xe2\x80\xa8\n",
        "\ufeffa\r\n\U0001f98a".encode("utf-16-le"),
        "\ufeffa\nb".encode("utf-16-be"),
    ],
)
def test_bytes_come_back_as_they_were(content, editor):
    read = decode(content)
    editor.load(read.text, "a.py")
    assert encode(editor.text, read.form, read.text) == content


def test_only_lines_that_are_new_get_the_usual_ending():
    read = decode(b"a\r\nb\nc\r\n")
    assert encode("a\nnew\nb\nc\n", read.form, read.text) == b"a\r\nnew\r\nb\nc\r\n"


def request(root, path="a.py", text="new\n", digest="", form=None) -> SaveRequest:
    return SaveRequest(str(root), path, text, digest, form or FileForm())


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
def test_permissions_stay_and_nothing_is_left_beside_the_file(tmp_path):
    (tmp_path / "a.py").write_bytes(b"old\r\n")
    os.chmod(tmp_path / "a.py", 0o751)
    assert save(request(tmp_path)).state == SAVED
    assert stat.S_IMODE((tmp_path / "a.py").stat().st_mode) == 0o751
    assert (tmp_path / "a.py").read_bytes() == b"new\r\n" and os.listdir(tmp_path) == ["a.py"]
    os.chmod(tmp_path / "a.py", 0o444)
    outcome = save(request(tmp_path))
    assert outcome.state == FAILED and "read-only" in outcome.failure.cause


@pytest.mark.skipif(sys.platform == "win32", reason="links of POSIX")
def test_a_link_that_leaves_the_repository_is_never_written_through(tmp_path):
    root, outside = tmp_path / "repository", tmp_path / "outside"
    for folder in (root / "sub", outside):
        folder.mkdir(parents=True)
    (outside / "a.py").write_text("theirs")
    (root / "a.py").symlink_to(outside / "a.py")
    (root / "folder").symlink_to(outside)
    (root / "sub/real.py").write_text("mine")
    (root / "inner.py").symlink_to(root / "sub/real.py")
    for path in ("a.py", "folder/a.py", "../outside/a.py", "folder/new.py", "."):
        outcome = save(request(root, path))
        assert outcome.state == FAILED and "leads out of the repository" in outcome.failure.cause
    assert (outside / "a.py").read_text() == "theirs" and os.listdir(outside) == ["a.py"]
    assert save(request(root, "inner.py")).state == SAVED
    assert (root / "inner.py").is_symlink() and (root / "sub/real.py").read_text() == "new\n"


def test_what_changed_or_went_since_is_not_written(tmp_path):
    (tmp_path / "a.py").write_text("old\n")
    digest = decode(b"older\n").digest
    assert save(request(tmp_path, digest=digest)).state == CHANGED and (tmp_path / "a.py").read_text() == "old\n"
    (tmp_path / "a.py").unlink()
    assert save(request(tmp_path, digest=digest)).state == GONE and not os.listdir(tmp_path)
    assert save(request(tmp_path, form=FileForm(endings=("\r\n",)))).state == SAVED
    assert (tmp_path / "a.py").read_bytes() == b"new\r\n"


def test_a_character_that_the_encoding_lacks_is_refused(tmp_path):
    (tmp_path / "a.py").write_bytes(b"\xfc\n")
    outcome = save(request(tmp_path, text="→\n"))
    assert outcome.state == FAILED and "'→'" in outcome.failure.cause
    assert (tmp_path / "a.py").read_bytes() == b"\xfc\n"


# ---- the page


def test_ctrl_s_saves_and_the_mark_goes(page, edited, qtbot):
    card = page.card
    assert card.name.words == f"● {PATH}" and card.note.text() == "Unsaved edits" and page.save_button.isEnabled()
    edited.chmod(0o640)
    qtbot.keyClick(page.editor, Qt.Key.Key_S, CTRL)
    qtbot.waitUntil(lambda: not card.has_unsaved)
    assert edited.read_text() == f"mine # {PATH}\nvalue = 1\n"
    assert card.name.words == PATH and card.note.text() == "Saved" and not page.save_button.isEnabled()
    assert not any(bar.isVisible() for bar in page.saving.bars)
    qtbot.keyClicks(page.editor, "more ")
    press(qtbot, page.save_button)  # what was written last is known: nothing is asked
    qtbot.waitUntil(lambda: not card.has_unsaved)
    assert edited.read_text().startswith("mine more # orbit")


def test_what_is_typed_while_it_is_written_stays_unsaved(page, edited, qtbot, qapp):
    page.saving.save()
    qtbot.keyClicks(page.editor, "late ")
    qtbot.waitUntil(lambda: edited.read_text().startswith("mine #"))
    page.saving.writer.wait()
    qapp.processEvents()
    assert page.card.has_unsaved and page.editor.toPlainText().startswith("mine late ")
    page.saving.save()
    qtbot.waitUntil(lambda: not page.card.has_unsaved)
    assert edited.read_text().startswith("mine late ")


@pytest.mark.parametrize("answer", ["overwrite", "reload", "stop"])
def test_a_file_that_changed_on_disk_is_asked_about(page, edited, answer, qtbot):
    edited.write_text("theirs\n")
    page.saving.save()
    qtbot.waitUntil(page.saving.conflict.isVisible)
    assert edited.read_text() == "theirs\n"
    press(qtbot, getattr(page.saving, f"{answer}_button"))
    qtbot.waitUntil(lambda: not page.saving.conflict.isVisible())
    if answer == "stop":
        assert page.card.has_unsaved and page.editor.toPlainText().startswith("mine ")
        return
    qtbot.waitUntil(lambda: not page.card.has_unsaved)
    shown = page.editor.toPlainText()
    assert shown == edited.read_text() and shown.startswith("mine" if answer == "overwrite" else "theirs")
    page.editor.undo()
    assert page.editor.toPlainText() != shown  # neither answer loses what was typed


def test_a_file_that_is_gone_can_be_written_again(page, edited, qtbot):
    edited.unlink()
    page.saving.save()
    qtbot.waitUntil(page.saving.conflict.isVisible)
    assert not page.saving.reload_button.isVisible() and "deleted" in page.saving.conflict.words.text()
    press(qtbot, page.saving.overwrite_button)
    qtbot.waitUntil(lambda: not page.card.has_unsaved)
    assert edited.read_text().startswith("mine ")


def test_a_write_that_fails_is_a_card_and_loses_nothing(page, edited, monkeypatch, qtbot, script):
    def full(*_arguments, **_options) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(file_access, "replace_file", full)
    page.saving.save()
    card = page.saving.error_card
    qtbot.waitUntil(card.isVisible)
    assert all(part in card.cause.text() for part in ("pass.py", "No space left on device"))
    assert KEPT in card.remedy.text()
    assert page.card.has_unsaved and page.editor.toPlainText().startswith("mine ")
    assert edited.read_text().startswith("# orbit")
    qtbot.keyClick(page.editor, Qt.Key.Key_Space, CTRL)
    script.answer("fine")
    assert card.isVisible()  # a suggestion says nothing about the disk
    monkeypatch.undo()
    press(qtbot, card.action_button)
    qtbot.waitUntil(lambda: not page.card.has_unsaved)
    assert not card.isVisible() and edited.read_text().startswith("mine ")


def test_a_scratch_text_has_no_file_to_save_to(page, files, qtbot):  # noqa: F811
    qtbot.keyClick(page.editor, Qt.Key.Key_S, CTRL)
    assert page.message.isVisible() and not page.save_button.isEnabled()


def test_a_text_that_the_editor_cannot_hold_is_not_saved(page, files, qtbot):  # noqa: F811
    (files / PATH).write_bytes("one\u2029two\n".encode())
    page.open_file(PATH)
    qtbot.waitUntil(lambda: page.card.path == PATH)
    qtbot.keyClicks(page.editor, "x")
    page.saving.save()
    assert PATH in page.message.words.text()
    page.saving.writer.wait()
    assert (files / PATH).read_bytes() == "one\u2029two\n".encode()


# ---- before edits are left


@pytest.mark.parametrize("answer", ["save", "discard", "keep", "cancel"])
def test_another_file_is_opened_after_an_answer(page, edited, answer, qtbot, qapp):
    saving = page.saving
    page.open_file("notes.md")
    assert saving.unsaved.isVisible() and page.card.path == PATH
    press(qtbot, getattr(saving, f"{answer}_button"))
    if answer == "cancel":
        qapp.processEvents()
        assert page.card.path == PATH and page.card.has_unsaved and not saving.unsaved.isVisible()
        return
    qtbot.waitUntil(lambda: page.card.path == "notes.md")
    assert not saving.unsaved.isVisible()
    assert edited.read_text().startswith("mine" if answer == "save" else "# orbit")
    page.open_file(PATH)
    qtbot.waitUntil(lambda: page.card.path == PATH)
    assert page.card.has_unsaved == (answer == "keep")
    assert page.editor.toPlainText().startswith("# orbit" if answer == "discard" else "mine")


def test_a_new_text_asks_too(page, edited, qtbot):
    press(qtbot, page.new_button)
    assert page.saving.unsaved.isVisible() and page.card.path == PATH
    press(qtbot, page.saving.discard_button)
    assert page.card.path == "" and page.editor.hasFocus()


def test_a_save_that_fails_does_not_go_on(page, edited, monkeypatch, qtbot):
    monkeypatch.setattr(file_access, "replace_file", lambda *_, **__: (_ for _ in ()).throw(PermissionError(13, "no")))
    page.open_file("notes.md")
    press(qtbot, page.saving.save_button)
    qtbot.waitUntil(page.saving.error_card.isVisible)
    assert page.card.path == PATH and page.card.has_unsaved


def test_another_repository_asks_and_keeps_each_its_own(page, edited, application, tmp_path, qtbot):
    other = tmp_path / "other"
    other.mkdir()
    first = application.repository.root
    open_repository(application, corpus((), str(other)))
    assert page.saving.unsaved.isVisible() and not page.saving.cancel_button.isVisible()
    assert page.card.path == PATH and page.editor.toPlainText().startswith("mine")
    press(qtbot, page.saving.keep_button)
    assert (page.card.root, page.card.path) == (str(other), "")
    open_repository(application, corpus((), first))
    assert page.card.path == PATH and page.editor.toPlainText().startswith("mine") and page.card.has_unsaved


@pytest.mark.parametrize("answer", ["save", "discard", "keep", "cancel"])
def test_the_window_asks_before_it_closes(main_window, application, files, script, models, answer, qtbot):  # noqa: F811
    page = main_window.page("Complete")
    page.open_file(PATH)
    qtbot.waitUntil(lambda: page.card.path == PATH)
    qtbot.keyClicks(page.editor, "mine ")
    main_window.close()
    assert main_window.isVisible() and page.isVisible() and page.saving.unsaved.isVisible()
    press(qtbot, getattr(page.saving, f"{answer}_button"))
    if answer == "cancel":
        assert main_window.isVisible() and page.card.has_unsaved
        return
    qtbot.waitUntil(lambda: not main_window.isVisible())
    assert (files / PATH).read_text().startswith("mine" if answer == "save" else "# orbit")
