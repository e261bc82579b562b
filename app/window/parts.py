"""Small parts that every pane is made of: labels by role, cards, and a button that holds a layout.

Looks come from the stylesheet alone.
"""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QAbstractButton, QFrame, QLabel, QPushButton, QVBoxLayout, QWidget


def label(text: str = "", role: str = "text", tone: str = "", wrap: bool = False) -> QLabel:
    """A label; `role` and `tone` are those of the stylesheet.  Plain text: a driver's name is never read as markup."""
    result = QLabel(text)
    result.setTextFormat(Qt.TextFormat.PlainText)
    result.setProperty("role", role)
    result.setProperty("tone", tone)
    result.setWordWrap(wrap)
    return result


def set_tone(widget: QWidget, tone: str) -> None:
    """Change the tone of a widget that is already styled."""
    if widget.property("tone") != tone:
        widget.setProperty("tone", tone)
        widget.style().unpolish(widget)
        widget.style().polish(widget)


def dot(tone: str = "") -> QLabel:
    """An 8 px dot; a word stands beside it always."""
    result = label("", "dot", tone)
    result.setFixedSize(8, 8)
    return result


def card(kind: str = "plain", margins=(16, 14, 16, 14), spacing: int = 8) -> tuple[QFrame, QVBoxLayout]:
    """A surface and its column."""
    frame = QFrame()
    frame.setProperty("card", kind)
    column = QVBoxLayout(frame)
    column.setContentsMargins(*margins)
    column.setSpacing(spacing)
    return frame, column


def keyboard_focus(root: QWidget) -> None:
    """Buttons below `root` take the focus from the keyboard only: a ring where nobody tabbed to is noise."""
    for button in root.findChildren(QAbstractButton):
        if button.focusPolicy() != Qt.FocusPolicy.NoFocus:
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus)


class LayoutButton(QPushButton):
    """A button whose face is a layout of labels.  As large as its layout wants, also when lines wrap."""

    def __init__(self, role: str) -> None:
        super().__init__()
        self.setProperty("role", role)

    def pass_clicks(self) -> None:
        """Let the labels on the face hand the mouse to the button."""
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
