"""The page on the real program, a real store and tiny checkpoints."""

from __future__ import annotations

import gc

import pytest
from PySide6.QtCore import QEvent

from tests.app.state.program import *  # noqa: F403  (fixtures)
from tests.window.checkpoints.shelf import tell


@pytest.fixture
def story(folder, tiny, repository):
    """Checkpoints on the shelf."""
    return tell(folder, tiny, str(repository))


@pytest.fixture
def page_of(theme, qapp):
    """Makes the page of a program, shown.

    What is left of a page is collected here, in the window's thread: a worker's thread that comes upon it in its own
    collection would take widgets apart there.
    """
    from app.window.checkpoints.page import CheckpointsPage

    made = []

    def make(one):
        page = CheckpointsPage(one.state)
        theme.dress(page)
        made.append(page)
        page.resize(1096, 720)
        page.show()
        page.on_shown()
        page.load_curves()
        return page

    yield make
    while made:
        page = made.pop()
        page.close()
        page.deleteLater()
        del page
    qapp.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    gc.collect()


@pytest.fixture
def desk(program, story, page_of):
    """The program and its page, with the newest checkpoint selected and read."""
    one = program()
    one.state._warm_timer.stop()  # nobody here completes code
    page = page_of(one)
    one.until(lambda: page.table.chosen and page.detail.model_card.details is not None)
    return one, page
