"""The decoding precision in the settings, with the held-out loss that was measured beside it."""

from __future__ import annotations

import pytest

from app.values.completion import ModelChoice
from app.values.events import Failure
from app.window.settings.decoding_card import DecodingCard
from engine.generate.decode_losses import DecodeLoss, DecodeLosses
from engine.generate.options import PRECISION
from tests.app.played_jobs import answer, record


@pytest.fixture
def card(theme, application, qtbot):
    application.completion.on_choices((ModelChoice("c1", "shop #2"),))
    card = DecodingCard(application)
    qtbot.addWidget(card)
    card.show()
    return card


def test_every_precision_can_be_chosen(card, application):
    choice = card.precision.control
    assert [choice.itemData(row) for row in range(choice.count())] == list(PRECISION.choices)
    assert application.settings.precision == "auto" == choice.value
    choice.setCurrentIndex(choice.findData("int8"))
    choice.activated.emit(choice.currentIndex())
    assert application.settings.precision == "int8"


def test_what_was_not_measured_is_not_invented(card, application):
    assert "not been measured" in card.words.text() and "shop #2" in card.words.text()
    DecodeLosses(application.data_folder).keep("c1", "int8", DecodeLoss(1.2345, 900, "/code/shop"))
    application.checkpoints.decode_losses_ready.emit("c1")
    assert "8-bit 1.2345" in card.words.text() and "on shop" in card.words.text()
    assert "Not measured: 32-bit, 16-bit" in card.words.text()


def test_measuring_asks_for_the_model_in_use(card, application):
    assert not card.button.isEnabled()  # no repository is open
    application.repository.phase = "ready"
    application.repository.changed.emit()
    asked = record(application.jobs)
    card.button.click()
    assert asked == [("decode_losses", "c1")] and not card.button.isEnabled()
    answer(application.jobs, "decode_losses", failure=Failure("The disk is full.", "", job="decode_losses"))
    assert card.words.text() == "The disk is full." and card.button.isEnabled()


def test_a_cancelled_measurement_is_over(card, application):
    application.repository.phase = "ready"
    card.refresh()
    card.button.click()
    application.checkpoints.cancel()
    assert card.button.isEnabled() and "not been measured" in card.words.text()
