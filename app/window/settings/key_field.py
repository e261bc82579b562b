"""A field for a key: click it, then press the keys.  Takes Tab and Esc, too, which other fields use themselves."""

from __future__ import annotations

from PySide6.QtCore import QEvent, Qt, Signal, Slot
from PySide6.QtGui import QFocusEvent, QKeyEvent, QKeySequence

from app.window.parts import PlainButton

MODIFIERS = (
    Qt.Key.Key_Control,
    Qt.Key.Key_Shift,
    Qt.Key.Key_Alt,
    Qt.Key.Key_Meta,
    Qt.Key.Key_AltGr,
    Qt.Key.Key_unknown,
)


class KeyField(PlainButton):
    """Shows the keys; after a click it records the next ones, until the focus leaves."""

    changed = Signal(str)
    is_listening = False  # on the class: Qt asks for it while the button is being made

    def __init__(self) -> None:
        super().__init__("", "Click, then press the keys")
        self._keys = ""
        self.setMinimumWidth(150)
        self.clicked.connect(self.on_clicked)

    def set_value(self, keys: str) -> None:
        """Show keys without emitting `changed`."""
        self._keys = keys
        self._listen(False)

    @Slot()
    def on_clicked(self) -> None:
        self.setFocus()
        self._listen(True)

    def event(self, event: QEvent) -> bool:
        if self.is_listening and event.type() == QEvent.Type.ShortcutOverride:
            event.accept()  # the keys are meant for this field, whatever else they do
            return True
        if self.is_listening and event.type() == QEvent.Type.KeyPress:
            self._take(event)
            return True
        return super().event(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        self._listen(False)
        super().focusOutEvent(event)

    def _take(self, event: QKeyEvent) -> None:
        key = event.key()
        if key in MODIFIERS:
            return
        if key == Qt.Key.Key_Backtab:
            key = Qt.Key.Key_Tab
        modifiers = event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        keys = QKeySequence(modifiers.value | key).toString(QKeySequence.SequenceFormat.PortableText)
        self._keys = keys
        self._listen(False)
        self.changed.emit(keys)

    def _listen(self, on: bool) -> None:
        self.is_listening = on
        shown = QKeySequence(self._keys).toString(QKeySequence.SequenceFormat.NativeText)
        self.setText("Press the keys…" if on else shown or "none")
