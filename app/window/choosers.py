"""The three chips of the header, each with the menu that chooses: the repository, the model, the device."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QMenu

from app.data.settings_file import AUTOMATIC
from app.state.application import Application
from app.window.pages import CHECKPOINTS, DEVICE
from app.window.parts import Chip, tip_words

NO_FOLDER = "choose a folder"


class ChoosingChip(Chip):
    """A chip whose menu is filled when it opens, so that it is never out of date."""

    page_wanted = Signal(str)

    def __init__(self, name: str, value: str, longest: int) -> None:
        super().__init__(name, value, longest)
        self.choices = QMenu(self)
        self.choices.setAccessibleName(name)
        self.choices.setToolTipsVisible(True)
        self.setMenu(self.choices)
        self.choices.aboutToShow.connect(self.on_about_to_show)
        self._group: QActionGroup | None = None

    @Slot()
    def on_about_to_show(self) -> None:
        """Fill the menu."""
        self.choices.clear()
        if self._group is not None:
            self._group.deleteLater()
        self._group = QActionGroup(self)
        self._group.triggered.connect(self.on_picked)
        self.fill()

    @abstractmethod
    def fill(self) -> None:
        """Add the entries; every chip has its own."""

    @abstractmethod
    def pick(self, key: str) -> None:
        """Choose the entry with that key."""

    @Slot(QAction)
    def on_picked(self, action: QAction) -> None:
        self.pick(action.data())

    def _entry(self, key: str, words: str, chosen: bool, help_words: str = "") -> QAction:
        action = self._group.addAction(words.replace("&", "&&"))
        action.setCheckable(True)
        action.setChecked(chosen)
        action.setData(key)
        action.setToolTip(help_words or words)
        self.choices.addAction(action)
        return action


class RepositoryChip(ChoosingChip):
    """The open folder, and recent ones."""

    def __init__(self, application: Application, folder_action: QAction, all_action: QAction) -> None:
        super().__init__("Repository", NO_FOLDER, 200)
        self._repository = application.repository
        self._folder_action, self._all_action = folder_action, all_action
        self._repository.changed.connect(self.on_changed)
        self.on_changed()

    def fill(self) -> None:
        choose = self.choices.addAction(self._folder_action.text(), self._folder_action.trigger)
        choose.setToolTip(tip_words("Opens another repository", self._folder_action.shortcut().toString()))
        recent = [folder for folder in self._repository.recent if folder != self._repository.root]
        if self._repository.root:
            self.choices.addSeparator()
            self._entry(self._repository.root, self._repository.name, True, self._repository.root)
        elif recent:
            self.choices.addSeparator()
        for folder in recent:
            self._entry(folder, Path(folder).name or folder, False, folder)
        self.choices.addSeparator()
        every = self.choices.addAction(self._all_action.text(), self._all_action.trigger)
        every.setToolTip(tip_words("Sizes, models and memories of all folders", self._all_action.shortcut().toString()))
        if self._repository.root:
            self.choices.addAction("Close repository", self._repository.close)

    def pick(self, key: str) -> None:
        if key != self._repository.root:
            self._repository.open(key)

    @Slot()
    def on_changed(self) -> None:
        self.say(self._repository.name or NO_FOLDER, self._repository.root or "No repository is open")


class ModelChip(ChoosingChip):
    """The model used for completions."""

    def __init__(self, application: Application) -> None:
        super().__init__("Model", "loading…", 180)
        self._completion, self._checkpoints = application.completion, application.checkpoints
        self._repository = application.repository
        self._checkpoints.changed.connect(self.on_changed)
        self._completion.changed.connect(self.on_changed)
        self.on_changed()

    def fill(self) -> None:
        """Models adapted to this folder first, then general ones, then those of other folders."""
        open_folder = self._repository.root
        choices = self._completion.model_choices
        own = [choice for choice in choices if choice.folder and choice.folder == open_folder]
        general = [choice for choice in choices if not choice.folder]
        for group in (own, general, [choice for choice in choices if choice not in own and choice not in general]):
            for choice in group:
                words = f"{choice.name}   {choice.words}" if choice.words else choice.name
                help_words = f"Adapted to {choice.folder}" if choice.folder else words
                self._entry(choice.id, words, choice.id == self._completion.model, help_words)
            if group:
                self.choices.addSeparator()
        self.choices.addAction("All checkpoints…", self.on_all_wanted)

    def pick(self, key: str) -> None:
        self._completion.choose_model(key)

    @Slot()
    def on_all_wanted(self) -> None:
        self.page_wanted.emit(CHECKPOINTS)

    @Slot()
    def on_changed(self) -> None:
        choice = self._completion.choice(self._completion.model)
        name = choice.name if choice else "none yet" if self._checkpoints.listed else "loading…"
        help_words = f"{name}, {choice.words}" if choice and choice.words else name
        adapted = f"\nAdapted to {choice.folder}" if choice and choice.folder else ""
        self.say(name, f"Model used for completions: {help_words}{adapted}")


class DeviceChip(ChoosingChip):
    """Where Codecoil computes, and where it could."""

    settings_wanted = Signal(str)  # the part of them

    def __init__(self, application: Application) -> None:
        super().__init__("Device", "looking…", 290)
        self._engine = application.engine
        self._engine.devices_changed.connect(self.on_changed)
        self._engine.state_changed.connect(self.on_changed)
        self.on_changed()

    def fill(self) -> None:
        found = self._engine.found
        if found is not None:
            automatic = f"Automatic: {self._engine.automatic.description}"
            self._entry(AUTOMATIC, automatic, self._engine.preferred == AUTOMATIC, self._engine.automatic_reason)
            self.choices.addSeparator()
            for info in found.devices:
                words = f"{info.description} · {info.backend}"
                self._entry(info.name, words, self._engine.preferred == info.name, info.name)
        self.choices.addSeparator()
        self.choices.addAction("Device settings…", self.on_settings_wanted)

    def pick(self, key: str) -> None:
        self._engine.choose(key)

    @Slot()
    def on_settings_wanted(self) -> None:
        self.settings_wanted.emit(DEVICE)

    @Slot()
    def on_changed(self) -> None:
        info = self._engine.in_use
        if info is None:
            self.say("looking…" if self._engine.phase == "starting" else "none")
        else:
            reason = f"{info.name}: {info.description}\n{self._engine.reason}"
            self.say(f"{short(info.description)} · {info.backend}", reason)


def short(description: str, characters: int = 26) -> str:
    """A device's name cut at a word for narrow places; the tool tip has it whole."""
    if len(description) <= characters:
        return description
    return description[:characters].rsplit(" ", 1)[0].rstrip(" ,(-") + "…"
