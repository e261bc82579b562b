"""The list of the Repository page: empty while the folder is read, its order remembered, its focus to be seen."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QAbstractButton

from app.values.repository import FileLosses
from app.window.repository.file_model import NUMBERS
from app.window.repository.file_tree import LANGUAGE, LOSS, NAME, SIZE, TOKENS, VERDICT
from app.window.repository.filters import LEARNED, LEFT_OUT
from app.window.repository.page import FILES, SECRETS
from tests.window.stage import ROOT, corpus, open_repository, rows

LOSSES = {"orbit/api/handlers/beam.py": 3.25, "README.md": 4.5, "web/panel.ts": 2.0}


@pytest.fixture
def page(main_window):
    return main_window.page("Repository")


def test_while_a_folder_is_read_for_the_first_time_nothing_empty_can_be_pressed(page, application, qtbot):
    application.repository.open(ROOT)
    qtbot.waitUntil(page.progress_card.isVisible)
    assert not page.filters.isVisible() and not page.languages.isVisible()
    assert "not watched" not in page.heading.subtitle.text()
    assert all(button.accessibleName() or button.text() for button in visible(page, QAbstractButton))
    open_repository(application)
    assert page.filters.isVisible() and page.languages.isVisible()
    page.show_list(SECRETS)
    assert not page.filters.isVisible()
    page.show_list(FILES)
    application.repository.close()
    application.repository.open(ROOT)
    assert not page.filters.isVisible()


def visible(page, kind):
    buttons = page.view.findChildren(kind)
    return [button for button in buttons if button.isVisible() and button.focusPolicy() != Qt.FocusPolicy.NoFocus]


def test_a_list_without_files_says_why(page, application):
    open_repository(application)
    nothing = page.files.nothing
    assert not nothing.isVisible()
    page.filters.search.setText("no such name")
    page.filters.on_settled()
    assert nothing.isVisible() and "filter" in nothing.text()
    page.filters.choose()
    assert not nothing.isVisible()
    open_repository(application, corpus((), secrets=()))
    assert nothing.isVisible() and "filter" not in nothing.text()
    assert nothing.size() == page.files.viewport().size()


def test_a_folder_with_nothing_to_learn_is_not_adapted_to(page, application):
    open_repository(application, corpus(rows()[1:2]))
    assert application.training.start_problem == "There is nothing to learn in this folder."
    open_repository(application, corpus(rows()[2:3]))  # a file to measure on, and none to learn from
    assert application.training.start_problem == "There is nothing to learn in this folder."
    open_repository(application)
    assert application.training.start_problem == ""


def test_the_order_of_the_files_is_remembered(page, application, theme):
    from app.window.repository.page import RepositoryPage

    open_repository(application)
    page.files.header().setSortIndicator(TOKENS, Qt.SortOrder.DescendingOrder)
    page.keep_place()
    again = RepositoryPage(application)
    header = again.files.header()
    assert (header.sortIndicatorSection(), header.sortIndicatorOrder()) == (TOKENS, Qt.SortOrder.DescendingOrder)
    sizes = [node.tokens for node in again.files.files.tree.root.children if node.file is None]
    assert sizes == sorted(sizes, reverse=True)
    for damaged in ("", "loss", "5 1", "x descending", "size 2", "size descending more"):
        again.files.restore_order(damaged)
    assert header.sortIndicatorSection() == TOKENS
    again.deleteLater()


def test_the_arrow_stands_beside_the_words_of_its_column(page, application, main_window):
    open_repository(application)
    main_window.resize(1920, 1080)
    header = page.files.header()
    name, size = section(header, NAME), section(header, SIZE)
    assert name.left() < header.arrow_at(name, NAME).x() < name.left() + 80
    assert size.right() - 80 < header.arrow_at(size, SIZE).x() < size.right() - 30


def section(header, column):
    rect = header.viewport().rect()
    rect.setLeft(header.sectionViewportPosition(column))
    rect.setWidth(header.sectionSize(column))
    return rect


def test_the_row_with_the_focus_is_framed_and_not_a_grey_button(page, application, theme):
    open_repository(application)
    view = page.files
    view.setFocus(Qt.FocusReason.TabFocusReason)
    view.setCurrentIndex(view.files.index_of("README.md"))
    rect = view.visualRect(view.currentIndex())
    image = view.viewport().grab().toImage()
    inside = image.pixelColor(rect.center().x(), rect.top() + 6)
    assert inside == QColor(theme.tokens.raised)
    frame = image.pixelColor(rect.center().x(), rect.top() + 1)
    assert frame.blue() > frame.red() + 60  # the colour of every focus ring


def click_heading(view, column, qtbot):
    rect = section(view.header(), column)
    qtbot.mouseClick(view.header().viewport(), Qt.MouseButton.LeftButton, pos=rect.center())


def test_a_click_on_a_heading_sorts_by_it(page, application, qtbot):
    open_repository(application)
    application.repository.on_losses(FileLosses(ROOT, "starter", LOSSES))
    view = page.files
    for column in (LANGUAGE, SIZE, TOKENS, VERDICT, LOSS, NAME):
        click_heading(view, column, qtbot)
        order = Qt.SortOrder.DescendingOrder if column in NUMBERS else Qt.SortOrder.AscendingOrder
        assert (view.header().sortIndicatorSection(), view.header().sortIndicatorOrder()) == (column, order)
        assert view.files.tree.order == (column, order == Qt.SortOrder.DescendingOrder)
    click_heading(view, NAME, qtbot)
    assert view.files.tree.order == (NAME, True)


def test_the_order_by_loss_is_remembered_until_there_are_losses(page, application, theme):
    from app.window.repository.page import RepositoryPage

    open_repository(application)
    application.repository.on_losses(FileLosses(ROOT, "starter", LOSSES))
    page.files.header().setSortIndicator(LOSS, Qt.SortOrder.DescendingOrder)
    assert [node.path for node in page.files.files.tree.root.children][:2] == [
        "README.md",
        "orbit/api/handlers/beam.py",
    ]
    page.keep_place()
    application.repository._forget_losses()
    assert page.files.files.tree.order == (NAME, False) == (page.files.header().sortIndicatorSection(), False)
    again = RepositoryPage(application)
    assert again.files.files.tree.order == (NAME, False)
    application.repository.on_losses(FileLosses(ROOT, "starter", LOSSES))
    assert again.files.files.tree.order == (LOSS, True) and again.files.header().sortIndicatorSection() == LOSS
    again.deleteLater()


def read_again(application, path: str, **changes) -> None:
    """As if the choice for `path` had been taken in."""
    application.repository.on_corpus(
        corpus(tuple(replace(row, **changes) if row.path == path else row for row in rows())), True
    )


def test_what_is_unticked_inside_a_filter_stays_until_the_filter_changes(page, application, qtbot):
    open_repository(application)
    page.filters.choose(LEARNED)
    files = page.files.files
    files.toggle(files.index_of("web/panel.ts"))
    read_again(application, "web/panel.ts", learn=False, reason="switched_off", overridden=True)
    node = files.tree.by_path["web/panel.ts"]
    assert not node.fits and files.tree.by_path["README.md"].fits
    assert page.shown.text() == "3 of 8"  # of those that pass the filter
    page.files.setCurrentIndex(files.index_of("web/panel.ts"))
    qtbot.keyClick(page.files, Qt.Key.Key_Space)  # taken back in its place
    read_again(application, "web/panel.ts", overridden=True)
    assert files.tree.by_path["web/panel.ts"].fits
    files.toggle(files.index_of("web/panel.ts"))
    read_again(application, "web/panel.ts", learn=False, reason="switched_off", overridden=True)
    page.filters.choose(LEARNED)
    assert "web/panel.ts" not in files.tree.by_path


def test_a_folder_that_is_ticked_inside_a_filter_stays_with_what_is_in_it(page, application):
    open_repository(application)
    page.filters.choose(LEFT_OUT)
    files = page.files.files
    files.toggle(files.index_of("vendor/"))  # one row for all of it, until it is learned
    inside = replace(rows()[0], path="vendor/lib/a.md", overridden=True)
    others = [row for row in rows() if row.path != "vendor/"]
    application.repository.on_corpus(corpus(tuple(sorted([*others, inside], key=lambda row: row.path))), True)
    assert "vendor/lib/a.md" in files.tree.by_path
    page.filters.choose(LEARNED)
    files.toggle(files.index_of("orbit/"))  # now the other way round
    whole = replace(rows()[6], path="orbit/", reason="switched_off")
    application.repository.on_corpus(corpus((rows()[0], whole)), True)
    assert not files.tree.by_path["orbit/"].fits
