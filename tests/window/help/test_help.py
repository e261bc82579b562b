"""The help: a page for every pane, found by its words, with the keys and commands that the program really has."""

from __future__ import annotations

import re
import shlex

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QAction, QFont, QKeySequence, QShortcut
from PySide6.QtWidgets import QAbstractButton

from app.command_line import FAILED, INTERRUPTED, REFUSED, build_parser
from app.window import pages
from app.window.help.keys import GHOST_KEYS, keys_of
from app.window.help.pages import load_pages, search
from tests.window.stage import press

LOADED = load_pages()


@pytest.fixture
def help_window(main_window, qtbot):
    main_window.on_help_wanted()
    yield main_window.help_window
    main_window.help_window.close()


# ---- the texts


def test_every_pane_has_a_page():
    assert {entry.title for entry in pages.PAGES} <= {page.title for page in LOADED}


@pytest.mark.parametrize("page", LOADED, ids=lambda page: page.key)
def test_a_page_has_its_title_and_its_links_lead_somewhere(page):
    assert page.text.startswith(f"# {page.title}\n") and len(page.text) > 500
    keys = {f"{each.key}.md" for each in LOADED}
    assert set(re.findall(r"\]\(([^)]*)\)", page.text)) <= keys
    assert "<!--" not in page.text and "http" not in page.text


def test_commands_and_exit_codes_are_those_of_the_program():
    text = next(page.text for page in LOADED if page.key == "command_line")
    for code in (0, FAILED, REFUSED, INTERRUPTED):
        assert f"\n| {code} |" in text
    for command in (
        "base",
        "benchmark",
        "checkpoints",
        "complete",
        "devices",
        "lsp",
        "memory",
        "scan",
        "score",
        "selftest",
        "serve",
        "train",
    ):
        assert f"| `{command}` |" in text
    parser = build_parser()
    examples = [shlex.split(line)[1:] for line in text.splitlines() if line.startswith("    codecoil ")]
    assert len(examples) >= 5
    for words in examples:
        parser.parse_args(words)  # ends the program where an option is no more


def test_search_wants_every_word_and_puts_titles_first():
    assert search(LOADED, "") == () == search(LOADED, "xylophone")
    assert next(hit.page.key for hit in search(LOADED, "PRIVACY")) == "privacy"
    hit = next(iter(search(LOADED, "every kernel wrong")))
    assert hit.page.key == "settings" and "kernel" in hit.line and "*" not in hit.line
    assert next(hit.page.key for hit in search(LOADED, "exit codes")) == "command_line"


# ---- the window


def test_nothing_is_bolder_than_the_font(help_window):
    for page in LOADED:
        help_window.show_page(page.key)
        block = help_window.text.document().begin()
        while block.isValid():
            assert all(part.format.fontWeight() <= QFont.Weight.DemiBold for part in block.textFormats()), block.text()
            block = block.next()


def test_f1_opens_the_page_of_the_pane_in_front(main_window, qtbot):
    main_window.show_page("Settings")
    qtbot.keyClick(main_window, Qt.Key.Key_F1)
    window = main_window.help_window
    assert window.isVisible() and window.key == "settings"
    main_window.show_page("Repository")
    main_window.on_help_wanted()
    assert main_window.help_window is window and window.key == "repository"
    assert window.text.toPlainText().startswith("Repository")
    window.close()


def test_keys_are_read_from_the_actions(help_window, main_window):
    text = help_window.text.toPlainText()
    assert "Choose a folder…" in text and "Ctrl+O" in text
    main_window.actions_.folder.setShortcut("Ctrl+Shift+Y")
    main_window.on_help_wanted()
    assert "Ctrl+Shift+Y" in help_window.text.toPlainText()
    shown = {keys for _, keys in keys_of(main_window)}
    assert shown >= {action.shortcut().toString() for action in main_window.actions() if action.shortcut().toString()}


def owner(thing, pages: dict) -> str:
    """The page that something belongs to; "" for the window itself."""
    while thing is not None:
        if thing in pages.values():
            return next(title for title, page in pages.items() if page is thing)
        thing = thing.parent()
    return ""


def test_every_key_of_every_page_is_in_its_table(main_window):
    for title in ("Repository", "Adapt", "Complete", "Checkpoints", "Settings"):
        main_window.show_page(title)
    main_window.page("Adapt").load_board()
    main_window.on_help_wanted()
    window = main_window.help_window
    told = {page.title: window.markdown(page) for page in LOADED}
    found = [
        (thing, keys.toString(QKeySequence.SequenceFormat.NativeText))
        for kind in (QAction, QShortcut, QAbstractButton)
        for thing in main_window.findChildren(kind)
        for keys in [thing.key() if kind is QShortcut else thing.shortcut()]
        if not keys.isEmpty()
    ]
    assert len({keys for _, keys in found}) > 20 and "F6" in {keys for _, keys in found}
    for thing, keys in found:
        title = owner(thing, main_window.made)
        assert f"`{keys}`" in told[title or "Privacy"], (title, thing, keys)
    assert "`F6`" in told["Complete"] and "`F6`" not in told["Repository"]
    assert "`Ctrl+Shift+O`" in told["Repository"] and "`↑, ↓`" in told["Complete"]
    assert "`Space`" in told["Repository"] and "`+, -, Esc`" in told["Adapt"]
    window.close()


def test_a_key_without_words_is_missed_by_the_test_above(main_window):
    """What the table leaves out, because nobody has said what it does."""
    page = main_window.page("Repository")
    shortcut = QShortcut(QKeySequence("Ctrl+Shift+F12"), page)
    assert "Ctrl+Shift+F12" not in {keys for _, keys in keys_of(page)}
    shortcut.setWhatsThis("Does something")
    assert ("Does something", "Ctrl+Shift+F12") in keys_of(page)


def test_a_pane_adds_its_own_keys_and_those_of_the_settings(main_window, application):
    main_window.show_page("Complete")
    application.settings.key_accept = "Ctrl+Space"
    main_window.on_help_wanted()
    text = main_window.help_window.text.toPlainText()
    assert GHOST_KEYS["key_accept"] in text and "Ctrl+Space" in text
    assert "Open a file" in text and "Ctrl+P" in text
    main_window.help_window.close()


def test_searching_lists_pages_and_shows_the_first(help_window, qtbot):
    qtbot.keyClicks(help_window.find, "peft")
    assert help_window.list.count() == 1 and help_window.key == "checkpoints"
    assert help_window.text.textCursor().selectedText().lower() == "peft"
    qtbot.keyClicks(help_window.find, "zzz")
    assert help_window.list.count() == 0 and help_window.nothing.isVisible()
    help_window.find.clear()
    assert help_window.list.count() == len(LOADED) and help_window.list.currentItem().text() == "Checkpoints"


def test_links_lead_to_pages_and_never_out(help_window):
    help_window.on_link(QUrl("settings.md"))
    assert help_window.key == "settings" and help_window.list.currentItem().text() == "Settings"
    help_window.on_link(QUrl("https://example.org"))
    assert help_window.key == "settings"


def test_it_follows_the_theme_and_closes(help_window, main_window, application, qtbot):
    help_window.show_page("privacy")
    application.settings.theme = "dark"
    assert help_window.key == "privacy"
    press(qtbot, help_window.close_button)
    assert not help_window.isVisible() and not application.settings.place("help").isEmpty()


def test_the_menu_opens_the_base_models(main_window):
    main_window.actions_.base_model.trigger()
    assert main_window.base_model_dialog.isVisible()
    main_window.base_model_dialog.close()


def test_keys_are_found_as_they_are_shown(main_window, qtbot):
    main_window.show_page("Complete")
    main_window.on_help_wanted()
    window = main_window.help_window
    for keys, does in (("F6", "editor"), ("Ctrl+P", "Open a file")):
        window.find.setText(keys)
        assert window.key == "complete" and window.list.count() == 1
        assert keys in window.list.item(0).text() and does.casefold() in window.text.toPlainText().casefold()
    window.find.setText("ctrl+o")
    assert window.list.count() > 1  # a key that works everywhere is on every page of a pane
    window.close()
