"""The dialog that asks for a file or folder: where it starts, and its icons in both themes."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QLineEdit, QToolButton, QWidget

from app.theme.tokens import contrast
from app.window.parts import FileDialog
from app.window.parts.file_dialog import ICONS, existing_folder


@pytest.fixture
def dialog(theme, qtbot, tmp_path):
    parent = QWidget()
    qtbot.addWidget(parent)
    yield FileDialog(parent, "Choose", tmp_path)


def test_its_icons_follow_the_theme(dialog, theme):
    for choice in ("dark", "light"):
        theme.choose(choice)
        for name in ICONS:
            image = dialog.findChild(QToolButton, name).icon().pixmap(32, 32).toImage()
            drawn = [image.pixelColor(x, y) for x in range(image.width()) for y in range(image.height())]
            strongest = max(drawn, key=QColor.alpha)
            assert contrast(strongest.name(), theme.tokens.background) > 4.5, name


def test_it_starts_in_a_folder_that_is_there(dialog, theme, tmp_path, monkeypatch):
    assert Path(dialog.directory().absolutePath()) == tmp_path
    assert existing_folder(tmp_path / "gone" / "and this") == str(tmp_path)
    assert existing_folder("/no/such/folder") == existing_folder("") == str(Path.home())
    monkeypatch.setattr("app.window.parts.file_dialog.documents_folder", lambda: str(tmp_path / "gone" / "Documents"))
    save = FileDialog(dialog.parentWidget(), "Save")
    assert Path(save.directory().absolutePath()) == tmp_path
    assert save.findChild(QLineEdit, "fileNameEdit").text() == ""  # Qt would propose what is not there as a name
