"""The Adapt page, its board, and a run to show on them."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent

from tests.window.adapt.desk import CEILING, Desk, events


@pytest.fixture
def theme(qapp):
    """The dark theme; widgets need one."""
    from app.theme import Theme

    theme = Theme(qapp, "dark")
    yield theme
    theme.deleteLater()
    qapp.sendPostedEvents(None, QEvent.Type.DeferredDelete)


@pytest.fixture
def desk(theme, data_folder):
    data_folder.mkdir(parents=True, exist_ok=True)
    return Desk(data_folder)


@pytest.fixture
def page(desk, theme, qtbot):
    """The page, shown, with its board."""
    from app.window.adapt.page import AdaptPage

    page = AdaptPage(desk)
    qtbot.addWidget(page)
    theme.dress(page)
    page.resize(1096, 720)
    page.show()
    page.load_board()
    return page


@pytest.fixture
def history():
    from app.state.run_history import RunHistory

    history = RunHistory()
    for event in events(50):
        history.add(event)
    return history


@pytest.fixture
def board(theme, qtbot, history):
    """The plots with a run of 50 steps on them."""
    from app.window.adapt.board import Board

    board = Board()
    qtbot.addWidget(board)
    theme.dress(board)
    board.resize(1096, 500)
    board.show()
    board.show_run(history, 100, CEILING)
    board.draw_now()
    return board
