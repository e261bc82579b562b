"""The offer of a stronger base: when it is made, what is an answer, and what it leads to.  Nothing is fetched."""

from __future__ import annotations

import sys

import pytest

from app.state.base_offer import FAILED, FETCHING, HIDDEN, OFFERED, READY, BaseOffer
from app.state.checkpoints import CheckpointController
from app.state.downloads import DownloadController
from app.state.settings import Settings
from app.values.checkpoints import CheckpointRow, Listing
from app.values.events import Failure
from tests.app.played_jobs import PlayedJobs

BUILT_IN = CheckpointRow("s", "Built-in model", mode="base", built_in=True)
ADAPTED = CheckpointRow("a", "shop #1", mode="lora", base="s")
OTHER = CheckpointRow("o", "coder", mode="import")


class QuietDownloads(DownloadController):
    """Notes what is started and connects nowhere."""

    def __init__(self, folder) -> None:
        super().__init__(folder, PlayedJobs())
        self.started = []

    def start(self, agreement) -> None:
        self.agreement = agreement
        self.started.append(agreement.model.name)
        self.changed.emit()

    def fail(self, words: str = "No network.") -> None:
        self.agreement = None
        self.changed.emit()
        self.failed.emit(Failure(words, "Try again."))

    def end(self, id: str = "n") -> None:
        name, self.agreement = self.agreement.model.name, None
        self.changed.emit()
        self.fetched.emit(id, name)


@pytest.fixture
def made(qapp, folder):
    """Makes the offer as the program does; the store is listed by `list_rows`."""

    def make() -> BaseOffer:
        offer = BaseOffer(
            folder, Settings(folder), CheckpointController(PlayedJobs()), QuietDownloads(folder)
        )  # fmt: skip
        offer.downloads = offer._downloads
        offer.used = []
        offer.use_wanted.connect(offer.used.append)
        return offer

    return make


def list_rows(offer, *rows: CheckpointRow) -> None:
    offer._checkpoints.on_listed(Listing(rows, (), (), True))


def test_without_a_store_it_is_there_at_once_and_stays(made):
    offer = made()
    assert offer.phase == OFFERED and offer.can_accept and offer.downloads.started == []
    list_rows(offer, BUILT_IN, ADAPTED)
    assert offer.phase == OFFERED


def test_with_a_store_it_waits_until_that_is_read(made, folder):
    (folder / "checkpoints").mkdir(parents=True)
    offer = made()
    assert offer.phase == HIDDEN
    list_rows(offer, BUILT_IN)
    assert offer.phase == OFFERED


def test_whoever_has_another_base_is_not_asked(made, folder):
    (folder / "checkpoints").mkdir(parents=True)
    offer = made()
    list_rows(offer, BUILT_IN, OTHER)
    assert offer.phase == HIDDEN


def test_not_now_is_remembered(made):
    offer = made()
    offer.decline()
    assert offer.phase == HIDDEN and offer.downloads.started == []
    list_rows(offer, BUILT_IN)
    assert offer.phase == HIDDEN
    offer._settings.save()
    again = made()
    list_rows(again, BUILT_IN)
    assert again.phase == HIDDEN


def test_what_was_fetched_can_be_used_once_it_is_listed(made):
    offer = made()
    offer.accept()
    assert offer.phase == FETCHING and offer.downloads.started == [offer.agreement.model.name]
    offer.downloads.end("n")
    assert offer.phase == FETCHING  # the store is being read
    list_rows(offer, BUILT_IN)
    assert offer.phase == FETCHING
    list_rows(offer, BUILT_IN, CheckpointRow("n", "smollm2", mode="import"))
    assert offer.phase == READY and offer.used == []
    offer.use()
    assert offer.used == ["n"] and offer.phase == HIDDEN


def test_having_had_it_is_an_answer_also_when_it_is_deleted_later(made):
    offer = made()
    offer.accept()
    offer.downloads.end("n")
    list_rows(offer, CheckpointRow("n", "smollm2", mode="import"))
    offer.close()
    list_rows(offer, BUILT_IN)
    assert offer.phase == HIDDEN and offer.used == []
    offer._settings.save()
    assert made().phase == HIDDEN


def test_a_failure_is_no_answer_and_can_be_tried_again(made):
    offer = made()
    offer.accept()
    offer.downloads.fail("No network.")
    assert offer.phase == FAILED and offer.failure.cause == "No network." and offer._settings.base_offer == ""
    list_rows(offer, BUILT_IN)
    assert offer.phase == FAILED
    offer.accept()
    assert offer.phase == FETCHING and len(offer.downloads.started) == 2
    offer.downloads.fail()
    list_rows(offer, BUILT_IN, OTHER)  # had another way
    assert offer.phase == HIDDEN


def test_a_cancelled_fetch_is_offered_again(made):
    offer = made()
    offer.accept()
    offer.downloads.agreement = None
    offer.downloads.cancelled.emit()
    assert offer.phase == OFFERED and offer._settings.base_offer == ""


def test_what_else_fails_or_is_fetched_is_not_its_business(made):
    offer = made()
    offer.accept()
    offer.downloads.failed.emit(Failure("A memory estimate failed.", ""))
    assert offer.phase == FETCHING
    other = made()
    other.downloads.agreement = other.agreement  # of the list
    assert not other.can_accept
    other.accept()
    assert other.phase == OFFERED and other.downloads.started == []
    other.downloads.end("x")
    assert other.phase == OFFERED and other._settings.base_offer == ""


def test_without_pip_the_hub_is_offered(made, monkeypatch):
    assert made().agreement.hosts == ("the package index",)
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    agreement = made().agreement
    assert agreement.hosts[0] == "huggingface.co" and agreement.nbytes > 2e8
