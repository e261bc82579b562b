"""The list of the Repository page: empty while the folder is read, its order remembered, its focus to be seen."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QAbstractButton

from app.window.repository.file_tree import NAME, SIZE, TOKENS
from app.window.repository.page import FILES, SECRETS
from tests.window.stage import ROOT, corpus, open_repository, rows


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
    assert nothing.isVisible() and nothing.text() == "No file fits what is chosen above."
    page.filters.choose()
    assert not nothing.isVisible()
    open_repository(application, corpus((), secrets=()))
    assert nothing.text() == "There are no files in this folder."
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
    for damaged in ("", "5 1", "x 1", "1 2", "99 0"):
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
