"""The offer of a stronger base: a card that is answered once.  Fetching shows how far it is, and can be cancelled."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app.state.base_offer import FAILED, FETCHING, HIDDEN, OFFERED, READY, BaseOffer
from app.state.downloads import DownloadController
from app.window.parts import Card, LinkButton, PlainButton, ProgressLine, label

MODEL = "SmolLM2-135M"
MIB = 2**20
EDGES = (20, 18, 20, 0)  # as around the cards of a page, to which it belongs
READY_WORDS = "Use it for suggestions, and as the model to adapt? The Complete and Adapt pages let you switch back."


class OfferCard(QWidget):
    """A card with the room around it, hidden unless there is something to offer."""

    list_wanted = Signal()  # all base models

    def __init__(self, offer: BaseOffer, downloads: DownloadController) -> None:
        super().__init__()
        self._offer, self._downloads = offer, downloads
        self.card = Card(margins=(16, 12, 14, 12), spacing=10)
        self.title = label("", "heading", wrap=True)
        self.words = label("", "text", wrap=True)
        self.list_button = LinkButton("All base models…", "The whole list, also in the menu: Get a base model…")
        self.decline_button = PlainButton("Not now", "Does not ask again; the menu has Get a base model…")
        self.get_button = PlainButton("Get it")
        self.use_button = PlainButton("Use it")
        self.progress = ProgressLine(f"Fetching {MODEL}")
        text = QVBoxLayout()
        text.setSpacing(2)
        text.addWidget(self.title)
        text.addWidget(self.words)
        row = QHBoxLayout()
        row.setSpacing(10)
        row.addLayout(text, 1)
        for button in (self.list_button, self.decline_button, self.get_button, self.use_button):
            row.addWidget(button, 0, Qt.AlignmentFlag.AlignVCenter)
        self.card.column.addLayout(row)
        self.card.column.addWidget(self.progress)
        edge = QVBoxLayout(self)
        edge.setContentsMargins(*EDGES)
        edge.addWidget(self.card)
        self.list_button.clicked.connect(self.list_wanted)
        self.decline_button.clicked.connect(self.on_declined)
        self.get_button.clicked.connect(self.on_accepted)
        self.use_button.clicked.connect(offer.use)
        self.progress.cancelled.connect(downloads.cancel)
        offer.changed.connect(self.refresh)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Read the offer again."""
        offer, downloads = self._offer, self._downloads
        phase = offer.phase
        self.title.setText(self._title())
        self.words.setText(self._words())
        self.words.setVisible(bool(self.words.text()))
        self.card.setAccessibleName(f"{self.title.text()} {self.words.text()}".strip())
        self.card.set_kind({FAILED: "error", READY: "accent"}.get(phase, "plain"))
        self.list_button.setVisible(phase in (OFFERED, FAILED))
        self.decline_button.setVisible(phase in (OFFERED, FAILED, READY))
        self.get_button.setVisible(phase in (OFFERED, FAILED))
        self.get_button.setEnabled(offer.can_accept)
        self.get_button.setText("Try again" if phase == FAILED else "Get it")
        self.get_button.setAccessibleName(f"{self.get_button.text()}: {MODEL}")
        self.use_button.setVisible(phase == READY)
        if phase == FETCHING and downloads.active:
            self.progress.show_progress(
                downloads.done // MIB, max(1, downloads.total // MIB), f"{downloads.words} (MiB)"
            )
        else:
            self.progress.put_away()
        self.setVisible(phase != HIDDEN)

    def _title(self) -> str:
        offer = self._offer
        if offer.phase == FAILED:
            return offer.failure.cause
        if offer.phase == READY:
            return f"{MODEL} is ready."
        if offer.phase == FETCHING:
            return f"Getting {MODEL}"
        return f"A stronger base: {offer.agreement.nbytes / 1e6:.0f} MB, once"

    def _words(self) -> str:
        offer = self._offer
        if offer.phase == FAILED:
            return offer.failure.remedy
        if offer.phase == READY:
            return READY_WORDS
        if offer.phase == FETCHING:
            return ""
        return (
            f"{MODEL} ({offer.agreement.model.licence}) is far larger than the built-in model and has read far more "
            f"code. It comes from {offer.agreement.source}, and only if you say so; nothing of your code is sent."
        )

    @Slot()
    def on_accepted(self) -> None:
        self._offer.accept()

    @Slot()
    def on_declined(self) -> None:
        if self._offer.phase == READY:
            self._offer.close()
        else:
            self._offer.decline()
