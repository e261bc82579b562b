"""The offer of a stronger base at the first start: made once, until it is answered.

    hidden ──▶ offered ──▶ fetching ──▶ ready ──▶ hidden
                  ▲            │ failed ──▶ fetching again
                  └─ cancelled ┘

It is made while there is no base but the built-in one.  Declining it and having it are answers, and are remembered; a
fetch that failed or was cancelled is none.  Nothing connects before `accept`.
"""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from app.network.agreement import agreement_for
from app.network.base_models import first_offer
from app.state.checkpoints import CheckpointController
from app.state.downloads import DownloadController
from app.state.settings import Settings
from app.values.events import Failure

HIDDEN, OFFERED, FETCHING, FAILED, READY = "hidden", "offered", "fetching", "failed", "ready"
ACCEPTED, DECLINED = "accepted", "declined"


class BaseOffer(QObject):
    """What is offered, and how far it is."""

    changed = Signal()  # `phase`, `failure`, and the progress of the download
    use_wanted = Signal(str)  # checkpoint id

    def __init__(
        self,
        data_folder: Path,
        settings: Settings,
        checkpoints: CheckpointController,
        downloads: DownloadController,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._settings, self._checkpoints, self._downloads = settings, checkpoints, downloads
        self.agreement = agreement_for(first_offer())
        self.failure: Failure | None = None
        self.checkpoint = ""  # id of what was fetched
        # Without a store there is no other base, which need not be read first: the offer is there with the window.
        is_new = not settings.base_offer and not (data_folder / "checkpoints").exists()
        self.phase = OFFERED if is_new else HIDDEN
        checkpoints.changed.connect(self.on_checkpoints_changed)
        downloads.changed.connect(self.on_download_changed)
        downloads.fetched.connect(self.on_fetched)
        downloads.failed.connect(self.on_failed)
        downloads.cancelled.connect(self.on_cancelled)

    # ---- the answers

    @property
    def can_accept(self) -> bool:
        """Not while something else is being downloaded."""
        return self.phase in (OFFERED, FAILED) and not self._downloads.active

    def accept(self) -> None:
        """The user has read from where, and how much: fetch it."""
        if self.can_accept:
            self._enter(FETCHING)
            self._downloads.start(self.agreement)

    def decline(self) -> None:
        """It does not come back."""
        self._settings.base_offer = DECLINED
        self._enter(HIDDEN)

    def use(self) -> None:
        """Complete with what was fetched, and adapt it."""
        self.use_wanted.emit(self.checkpoint)
        self._enter(HIDDEN)

    def close(self) -> None:
        """It stays selectable."""
        self._enter(HIDDEN)

    # ---- what happens meanwhile

    @Slot()
    def on_checkpoints_changed(self) -> None:
        if self.phase == FETCHING and self.checkpoint:
            if self._checkpoints.row(self.checkpoint) is not None:  # now it can be chosen
                self._enter(READY)
        elif self.phase in (HIDDEN, OFFERED, FAILED):
            others = [row for row in self._checkpoints.rows if row.mode == "import" and not row.problem]
            offers = not others and not self._settings.base_offer
            self._enter((self.phase if self.phase == FAILED else OFFERED) if offers else HIDDEN)

    @Slot()
    def on_download_changed(self) -> None:
        if self.phase != HIDDEN:
            self.changed.emit()

    @Slot(str, str)
    def on_fetched(self, checkpoint: str, name: str) -> None:
        if self.phase == FETCHING and name == self.agreement.model.name:
            self._settings.base_offer = ACCEPTED
            self.checkpoint = checkpoint

    @Slot(object)
    def on_failed(self, failure: Failure) -> None:
        """Of the download: what else fails in the list of base models, fails beside it."""
        if self.phase == FETCHING and not self._downloads.active:
            self.failure = failure
            self._enter(FAILED)

    @Slot()
    def on_cancelled(self) -> None:
        if self.phase == FETCHING:
            self._enter(OFFERED)

    def _enter(self, phase: str) -> None:
        if phase != self.phase:
            self.phase = phase
            self.changed.emit()
