"""The theme of the running program: the system's scheme or the user's choice; restyles everything visible at once.

The stylesheet is set on finished parts (a page, the header, a dialog), not on the application: there, Qt would restyle
a widget each time that it, or anything above it, is put into a layout, and switching would take four times as long.  So
the code that builds such a part calls `dress` when the part is complete.
"""

from __future__ import annotations

from typing import ClassVar
from weakref import WeakKeyDictionary

from PySide6.QtCore import QObject, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QColor, QPalette
from PySide6.QtWidgets import QApplication, QStyleFactory, QWidget
from shiboken6 import isValid

from app.theme.fonts import interface_font, load_fonts
from app.theme.icons import app_icon
from app.theme.stylesheet import stylesheet
from app.theme.tokens import DARK, LIGHT, Tokens

CHOICES = ("system", "dark", "light")
BETWEEN = 40  # milliseconds between two hidden parts that are restyled


class Theme(QObject):
    """Owns the look of the program.  Widgets that paint themselves listen to `restyled` for the new tokens."""

    restyled = Signal(Tokens)
    _current: ClassVar[Theme | None] = None

    def __init__(self, application: QApplication, choice: str = "system") -> None:
        super().__init__(application)
        Theme._current = self
        self._application = application
        self._styled: WeakKeyDictionary[QWidget, Tokens | None] = WeakKeyDictionary()  # what each part is styled with
        self._later = QTimer(self)
        self._later.setInterval(BETWEEN)
        self._later.timeout.connect(self.on_later)
        self.choice = choice if choice in CHOICES else "system"
        load_fonts()
        application.setStyle(QStyleFactory.create("Fusion"))
        application.setFont(interface_font())
        application.styleHints().colorSchemeChanged.connect(self.on_system_scheme_changed)
        self.tokens = self._wanted()
        self._apply()

    @classmethod
    def current(cls) -> Theme:
        """The theme of the program: there is one, as there is one QApplication."""
        if cls._current is None:
            raise RuntimeError("a widget was made before the theme")
        return cls._current

    def choose(self, choice: str) -> None:
        """`system`, `dark` or `light`."""
        if choice not in CHOICES:
            raise ValueError(f"no theme {choice!r}")
        self.choice = choice
        self._restyle()

    def dress(self, *parts: QWidget) -> None:
        """Give finished parts, and all that is in them, the current look; they follow every switch from now on."""
        for part in parts:
            if self._styled.get(part) is not self.tokens:
                part.setStyleSheet(stylesheet(self.tokens))
                self._styled[part] = self.tokens

    def dress_soon(self, part: QWidget) -> None:
        """The same for a part that is not visible yet, when there is time; `dress` it if it is shown before that."""
        self._styled.setdefault(part, None)
        self._later.start()

    @Slot()
    def on_later(self) -> None:
        """Restyle one part: each takes tens of milliseconds."""
        waiting = [part for part, tokens in self._styled.items() if tokens is not self.tokens and isValid(part)]
        if waiting:
            self.dress(waiting[0])
        if len(waiting) <= 1:
            self._later.stop()

    @Slot(Qt.ColorScheme)
    def on_system_scheme_changed(self, _scheme: Qt.ColorScheme) -> None:
        self._restyle()

    def _wanted(self) -> Tokens:
        if self.choice == "system":
            # Dark where the system has no preference.
            return LIGHT if self._application.styleHints().colorScheme() == Qt.ColorScheme.Light else DARK
        return DARK if self.choice == "dark" else LIGHT

    def _restyle(self) -> None:
        wanted = self._wanted()
        if wanted is not self.tokens:
            self.tokens = wanted
            self._apply()
            self.dress(*(part for part in [*self._styled] if isValid(part) and part.isVisible()))
            self._later.start()
            self.restyled.emit(wanted)

    def _apply(self) -> None:
        tokens = self.tokens
        self._application.setPalette(palette(tokens))
        self._application.setWindowIcon(app_icon(tokens.accent))


def palette(tokens: Tokens) -> QPalette:
    """Qt's roles from the tokens, for what no stylesheet reaches: links, tool tips, native dialogs."""
    result = QPalette()
    role = QPalette.ColorRole
    for group, colour in (
        (role.Window, tokens.background),
        (role.Base, tokens.panel),
        (role.AlternateBase, tokens.raised),
        (role.Button, tokens.raised),
        (role.ToolTipBase, tokens.raised),
        (role.WindowText, tokens.ink),
        (role.Text, tokens.ink),
        (role.ButtonText, tokens.ink),
        (role.ToolTipText, tokens.ink),
        (role.PlaceholderText, tokens.mute),
        (role.Highlight, tokens.second),
        (role.HighlightedText, tokens.panel),
        (role.Link, tokens.second_text),
    ):
        result.setColor(group, QColor(colour))
    return result
