"""What comes back after a restart: the file, the cursor, the scratch text and unsaved edits, for each repository."""

from __future__ import annotations

import json

import pytest

from app.window.complete.sessions import Draft, Session, keep_session, kept_session, session_file
from tests.window.complete.test_files import files  # noqa: F401  (fixture)
from tests.window.stage import corpus, open_repository

PATH = "orbit/pass.py"
SESSION = Session("a.py", 7, Draft("x = 1", 2), {"a.py": Draft("y \udc80\U0001f98a", 3, "d")})


def test_a_session_is_kept_by_repository(tmp_path):
    keep_session(tmp_path, "/one", SESSION)
    assert kept_session(tmp_path, "/one") == SESSION and kept_session(tmp_path, "/two") == Session()
    keep_session(tmp_path, "/one", Session())
    assert kept_session(tmp_path, "/one") == Session()
    assert len(list((tmp_path / "editor").iterdir())) == 1  # nothing half written is left


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"{" + content,
        lambda content: b"[]",
        lambda content: content.replace(b'"drafts"', b'"d"'),
        lambda content: content.replace(b'"x = 1"', b"5"),
        lambda content: content.replace(b'"/one"', b'"/other"'),
    ],
)
def test_a_damaged_session_is_as_if_there_were_none(tmp_path, damage):
    keep_session(tmp_path, "/one", SESSION)
    file = session_file(tmp_path, "/one")
    file.write_bytes(damage(file.read_bytes()))
    assert kept_session(tmp_path, "/one") == Session()


def test_a_path_that_leaves_the_repository_is_not_taken(tmp_path):
    keep_session(tmp_path, "/one", Session("../b", 0, Draft(""), {"/etc/x": Draft("t"), "a/../../b": Draft("t")}))
    assert kept_session(tmp_path, "/one") == Session()


def again(page, application, qtbot):
    """The page as the next start makes it."""
    from app.window.complete.page import CompletePage

    page.keep_place()
    other = CompletePage(application)
    qtbot.addWidget(other)
    return other


def test_unsaved_edits_and_the_scratch_text_come_back(page, files, application, qtbot):  # noqa: F811
    page.on_new_wanted()
    qtbot.keyClicks(page.editor, "scratch = 1")
    page.open_file(PATH)
    qtbot.waitUntil(lambda: page.card.path == PATH)
    qtbot.keyClicks(page.editor, "mine ")
    other = again(page, application, qtbot)
    assert other.card.path == PATH and other.card.has_unsaved
    assert other.editor.toPlainText() == page.editor.toPlainText()
    assert other.editor.textCursor().position() == len("mine ")
    (files / PATH).write_text("theirs\n")
    other.saving.save()  # what was opened before the restart is still known
    qtbot.waitUntil(lambda: not other.saving.conflict.isHidden())
    other.saving.on_cancel()
    other.card.discard()
    other.on_new_wanted()
    assert other.editor.toPlainText() == "scratch = 1"
    third = again(other, application, qtbot)
    assert third.card.path == "" and third.editor.toPlainText() == "scratch = 1"
    third.keep_place()


def test_a_crash_loses_no_more_than_a_moment(page, files, application, qtbot):  # noqa: F811
    page.open_file(PATH)
    qtbot.waitUntil(lambda: page.card.path == PATH)
    qtbot.keyClicks(page.editor, "mine ")
    root = application.repository.root

    def kept() -> str:
        return kept_session(application.data_folder, root).drafts.get(PATH, Draft("")).text

    qtbot.waitUntil(lambda: kept().startswith("mine "))


def test_every_repository_has_its_own(page, files, application, tmp_path, qtbot):  # noqa: F811
    page.open_file("notes.md")
    qtbot.waitUntil(lambda: page.card.path == "notes.md")
    first = application.repository.root
    open_repository(application, corpus((), str(tmp_path)))
    assert page.card.path == "" and page.editor.toPlainText() == ""
    qtbot.keyClicks(page.editor, "here")
    open_repository(application, corpus((), first))
    qtbot.waitUntil(lambda: page.card.path == "notes.md")
    page.on_new_wanted()
    assert page.editor.toPlainText() == ""
    open_repository(application, corpus((), str(tmp_path)))
    assert page.editor.toPlainText() == "here"


def test_a_scratch_text_begun_in_no_repository_goes_along(application, script, models, theme, tmp_path, qtbot):
    from app.window.complete.page import CompletePage

    page = CompletePage(application)
    qtbot.addWidget(page)
    page.editor.insertPlainText("begun = 1")
    open_repository(application, corpus((), str(tmp_path)))
    assert page.editor.toPlainText() == "begun = 1" and page.card.root == str(tmp_path)
    page.keep_place()
    assert kept_session(application.data_folder, "").scratch.text == ""
    content = json.loads(session_file(application.data_folder, str(tmp_path)).read_text())
    assert content["scratch"]["text"] == "begun = 1"
