"""What the window remembers: its place, the theme and the chosen device.  One INI file in the data folder."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QByteArray, QSettings


class Settings:
    """Typed access; a value that is missing or damaged is as if it had never been set."""

    def __init__(self, folder: Path) -> None:
        self._store = QSettings(str(folder / "settings.ini"), QSettings.Format.IniFormat)

    @property
    def theme(self) -> str:
        return self._text("theme", "system")

    @theme.setter
    def theme(self, value: str) -> None:
        self._store.setValue("theme", value)

    @property
    def device(self) -> str:
        return self._text("device", "auto")

    @device.setter
    def device(self, value: str) -> None:
        self._store.setValue("device", value)

    @property
    def geometry(self) -> QByteArray:
        value = self._store.value("window/geometry")
        return value if isinstance(value, QByteArray) else QByteArray()

    @geometry.setter
    def geometry(self, value: QByteArray) -> None:
        self._store.setValue("window/geometry", value)

    def save(self) -> None:
        """Write the file now."""
        self._store.sync()

    def _text(self, key: str, default: str) -> str:
        value = self._store.value(key, default)
        return value if isinstance(value, str) else default
