"""The dialog that asks for a file or a folder: it starts in an existing folder and has the theme's icons.

Where the system has a dialog of its own, Qt shows that one, and the icons here are not used.
"""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QStandardPaths, Qt, Slot
from PySide6.QtWidgets import QFileDialog, QToolButton, QWidget

from app.theme import Theme, Tokens
from app.theme.icons import icon

ICONS = {  # by the names that Qt gives its buttons; its own arrows are black in every theme
    "backButton": "arrow_left",
    "forwardButton": "arrow_right",
    "toParentButton": "arrow_up",
    "newFolderButton": "folder_new",
    "listModeButton": "grid",
    "detailModeButton": "lines",
}


class FileDialog(QFileDialog):
    """Non-modal for the program: `open` it and connect to `fileSelected`.  Deleted when it closes."""

    def __init__(self, parent: QWidget, title: str, start: str | Path = "", accept: str = "") -> None:
        """`start`: the folder to start in, the documents for none; `accept`: the words on the button."""
        super().__init__(parent, title, existing_folder(start or documents_folder()))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        if accept:
            self.setLabelText(QFileDialog.DialogLabel.Accept, accept)
        theme = Theme.current()
        theme.restyled.connect(self.on_restyled)
        self.on_restyled(theme.tokens)

    def ask_for_folder(self) -> None:
        """Take folders only, and open."""
        self.setFileMode(QFileDialog.FileMode.Directory)
        self.setOption(QFileDialog.Option.ShowDirsOnly)
        self.open()

    @Slot(object)
    def on_restyled(self, tokens: Tokens) -> None:
        for name, picture in ICONS.items():
            button = self.findChild(QToolButton, name)
            if button is not None:
                button.setIcon(icon(picture, tokens.mute, 16))


def documents_folder() -> str:
    """The user's documents; on a small system there may be no such folder."""
    return QStandardPaths.writableLocation(QStandardPaths.StandardLocation.DocumentsLocation)


def existing_folder(wanted: str | Path) -> str:
    """`wanted`, or where it is gone the nearest folder above it; the home folder where that leads to the root."""
    path = Path(wanted or Path.home())
    found = next((folder for folder in (path, *path.parents) if folder.is_dir()), Path.home())
    return str(found if found == path or found != Path(found.anchor) else Path.home())
