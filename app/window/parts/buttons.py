"""Buttons: primary, plain, links, icons, buttons with a layout, chips that open a menu, and a row to choose from."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QButtonGroup,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QToolButton,
    QWidget,
)

from app.theme import Theme, Tokens
from app.theme.icons import icon, pixmap
from app.window.parts.labels import ElidedLabel, label
from app.window.parts.tool_tips import tip


def keyboard_focus(root: QWidget) -> None:
    """Buttons below `root` take the focus from the keyboard only: a focus ring after a click is noise."""
    for button in root.findChildren(QAbstractButton):
        if button.focusPolicy() != Qt.FocusPolicy.NoFocus:
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)


class PlainButton(QPushButton):
    """A secondary action.  The words are a verb; `keys` are shown in the tool tip."""

    role = ""

    def __init__(self, words: str, help_words: str = "", keys: str = "") -> None:
        super().__init__(words)
        if self.role:
            self.setProperty("role", self.role)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAccessibleName(words)
        if help_words or keys:
            tip(self, help_words or words, keys)


class PrimaryButton(PlainButton):
    """The one thing to do on a page."""

    role = "primary"


class LinkButton(PlainButton):
    """A link in a sentence."""

    role = "link"


class IconButton(QToolButton):
    """An icon with an accessible name and a tool tip."""

    def __init__(self, name: str, words: str, keys: str = "", size: int = 16) -> None:
        super().__init__()
        self._name, self._size = name, size
        self.setProperty("role", "plain")
        self.setIconSize(QSize(size, size))
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAccessibleName(words)
        tip(self, words, keys)
        theme = Theme.current()
        theme.restyled.connect(self.on_restyled)
        self.on_restyled(theme.tokens)

    @Slot(object)
    def on_restyled(self, tokens: Tokens) -> None:
        self.setIcon(icon(self._name, tokens.mute, self._size))


class LayoutButton(QPushButton):
    """A button whose face is a layout of labels, as large as that layout, also when lines wrap."""

    def __init__(self, role: str) -> None:
        super().__init__()
        self.setProperty("role", role)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)

    def pass_clicks(self) -> None:
        """Make the labels on the face transparent to the mouse."""
        for child in self.findChildren(QLabel):
            child.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)

    def sizeHint(self) -> QSize:
        return self.layout().sizeHint()

    def minimumSizeHint(self) -> QSize:
        return self.layout().minimumSize()

    def hasHeightForWidth(self) -> bool:
        return self.layout().hasHeightForWidth()

    def heightForWidth(self, width: int) -> int:
        return self.layout().heightForWidth(width)


class Chip(LayoutButton):
    """A name, its value and a chevron; opens the menu given with `setMenu`."""

    def __init__(self, name: str, value: str = "", longest: int = 260) -> None:
        super().__init__("chip")
        self.name = name
        row = QHBoxLayout(self)
        row.setContentsMargins(11, 7, 8, 7)
        row.setSpacing(6)
        self._title = label(name)
        self.value = ElidedLabel(value, "heading")
        self.value.setMaximumWidth(longest)
        self._chevron = label()
        row.addWidget(self._title)
        row.addWidget(self.value)
        row.addWidget(self._chevron)
        self.pass_clicks()
        self.say(value)
        theme = Theme.current()
        theme.restyled.connect(self.on_restyled)
        self.on_restyled(theme.tokens)

    def say(self, value: str, help_words: str = "") -> None:
        """Set the value; the tool tip has it in full."""
        self.value.set_words(value)
        self.setAccessibleName(f"{self.name}: {value}")
        tip(self, help_words or value)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.on_restyled(Theme.current().tokens)  # the screen's pixel ratio is known only now

    @Slot(object)
    def on_restyled(self, tokens: Tokens) -> None:
        self._chevron.setPixmap(pixmap("chevron_down", tokens.mute, 14, self.devicePixelRatioF()))


class Segmented(QFrame):
    """A row of words of which one is chosen.  Left and Right move the choice, as with radio buttons."""

    chosen = Signal(str)  # the key, only when the user chose

    def __init__(self, choices: Sequence[tuple[str, str] | tuple[str, str, str]], name: str = "") -> None:
        """`choices`: key, words and, optionally, a tool tip."""
        super().__init__()
        self.setProperty("role", "segmented")
        self.setAccessibleName(name)
        row = QHBoxLayout(self)
        row.setContentsMargins(2, 2, 2, 2)
        row.setSpacing(2)
        self._group = QButtonGroup(self)
        self.buttons: dict[str, QPushButton] = {}
        for key, words, *help_words in choices:
            button = QPushButton(words)
            button.setProperty("role", "segment")
            button.setCheckable(True)
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
            button.setAccessibleName(f"{name}: {words}" if name else words)
            if help_words:
                tip(button, help_words[0])
            self._group.addButton(button)
            self.buttons[key] = button
            row.addWidget(button)
        self._group.buttonClicked.connect(self.on_clicked)

    @property
    def value(self) -> str:
        """The key of the chosen one, or ""."""
        return next((key for key, button in self.buttons.items() if button.isChecked()), "")

    def set_value(self, key: str) -> None:
        """Choose without emitting `chosen`."""
        if key in self.buttons:
            self.buttons[key].setChecked(True)

    @Slot(QAbstractButton)
    def on_clicked(self, button: QAbstractButton) -> None:
        self.chosen.emit(next(key for key, each in self.buttons.items() if each is button))
