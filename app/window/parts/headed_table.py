"""The model of a flat table under fixed headings: what six tables of the window would each say again."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt

Index = QModelIndex | QPersistentModelIndex
LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter


class HeadedTable(QAbstractTableModel):
    """Subclasses say how many rows there are (`count`) and what is in a cell (`data`)."""

    headings: Sequence[str] = ()
    numbers: Collection[int] = ()  # columns that are set to the right
    heading_help: Mapping[int, str] = {}

    @abstractmethod
    def count(self) -> int:
        """How many rows there are."""

    def side(self, column: int) -> Qt.AlignmentFlag:
        """Where the words of a column stand."""
        return RIGHT if column in self.numbers else LEFT

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own signature
        return 0 if parent.isValid() else self.count()

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's own signature
        return 0 if parent.isValid() else len(self.headings)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return self.headings[section]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return self.side(section)
        return self.heading_help.get(section) if role == Qt.ItemDataRole.ToolTipRole else None
