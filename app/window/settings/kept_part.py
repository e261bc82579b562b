"""The button that deletes what is kept about the open repository; asks first."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QHBoxLayout, QWidget

from app.state.repository import RepositoryController
from app.state.training import TrainingController
from app.window.parts import PlainButton, label

QUESTION = (
    "Close {} and delete its file list, your choices, the held-out split and the memory? "
    "Checkpoints and the folder itself are kept."
)


class KeptPart(QWidget):
    """Hidden while no repository is open."""

    def __init__(self, repository: RepositoryController, training: TrainingController) -> None:
        super().__init__()
        self._repository, self._training = repository, training
        self._asked = ""  # the folder that was asked about
        self.words = label("", "label", wrap=True)
        self.button = PlainButton(
            "Delete repository data", "Everything Codecoil keeps about the open repository; asks first"
        )
        self.sure_button, self.keep_button = PlainButton("Delete data"), PlainButton("Cancel")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(10)
        row.addWidget(self.words, 1)
        for button in (self.keep_button, self.sure_button, self.button):
            row.addWidget(button)
        self.button.clicked.connect(self.on_clicked)
        self.sure_button.clicked.connect(self.on_sure_clicked)
        self.keep_button.clicked.connect(self.on_keep_clicked)
        repository.changed.connect(self.refresh)
        training.changed.connect(self.refresh)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        repository = self._repository
        if self._training.active or self._asked != repository.root:
            self._asked = ""
        asking = bool(self._asked)
        self.setVisible(bool(repository.root))
        self.words.setText(QUESTION.format(repository.name) if asking else f"Open repository: {repository.name}")
        self.button.setEnabled(not self._training.active)
        self.button.setVisible(not asking)
        self.sure_button.setVisible(asking)
        self.keep_button.setVisible(asking)

    @Slot()
    def on_clicked(self) -> None:
        self._asked = self._repository.root
        self.refresh()

    @Slot()
    def on_keep_clicked(self) -> None:
        self._asked = ""
        self.refresh()

    @Slot()
    def on_sure_clicked(self) -> None:
        self._asked = ""
        self._repository.delete_kept()
