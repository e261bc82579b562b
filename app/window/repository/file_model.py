"""The tree of files for Qt: the text of each cell.  How it is drawn is the delegate's business."""

from __future__ import annotations

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal

from app.values.words import language_words, nbytes
from app.window.parts.tool_tips import tip_words
from app.window.repository.file_tree import (
    LANGUAGE,
    LEARN,
    LEAVE,
    LOSS,
    MIXED,
    NAME,
    SIZE,
    TOKENS,
    VERDICT,
    FileTree,
    Node,
)

HEADINGS = ("File", "Language", "Size", "Tokens", "Verdict", "Model's loss")
TIPS = (
    "Ticked files are learned",
    "",
    "",
    "The pieces of text that the model reads, in files that are learned",
    "Whether a file is learned, and why not",
    "The held-out loss of {}: the higher, the less the model knows of the file",
)
KEPT = "No longer matches the filter. It stays in the list until you choose another filter."
NUMBERS = (SIZE, TOKENS, LOSS)
LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
STATES = {LEARN: Qt.CheckState.Checked, LEAVE: Qt.CheckState.Unchecked, MIXED: Qt.CheckState.PartiallyChecked}

Index = QModelIndex | QPersistentModelIndex


class FileModel(QAbstractItemModel):
    """The files of a tree.  `override_wanted` is emitted when the user ticks one."""

    override_wanted = Signal(str, object)  # path, learn or not

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._pending: dict[str, bool] = {}  # ticked and not read again yet
        self.losses: dict[str, float] = {}  # of files, as they were measured
        self._losses_of = ""  # the name of the model
        self.shown_losses: dict[str, float] = {}  # of files and folders that are shown
        self.tree = FileTree()

    # ---- what it shows

    def show_tree(self, tree: FileTree) -> None:
        self.beginResetModel()
        self.tree = tree
        self._sum_losses()
        self.endResetModel()

    def show_losses(self, losses: dict[str, float], model: str) -> None:
        """The loss by path, of the model with that name."""
        self.losses, self._losses_of = losses, model
        self._sum_losses()
        self.layoutChanged.emit()

    def forget_ticks(self) -> None:
        """The files were read again: their verdicts include what was ticked."""
        self._pending = {}

    def _sum_losses(self) -> None:
        """The loss of a folder is the mean of its scored files, by their tokens."""
        sums: dict[str, tuple[float, int]] = {}
        for path, loss in self.losses.items():
            node = self.tree.by_path.get(path)
            tokens = max(1, node.tokens) if node is not None else 0
            while node is not None and node.id:
                total, weight = sums.get(node.path, (0.0, 0))
                sums[node.path] = (total + loss * tokens, weight + tokens)
                node = node.parent
        self.shown_losses = {path: total / weight for path, (total, weight) in sums.items()}

    @property
    def shown(self) -> int:
        """How many files are shown."""
        return self.tree.root.count

    def node(self, index: Index) -> Node:
        """The file or folder of an index."""
        return self.tree.nodes[index.internalId()] if index.isValid() else self.tree.root

    def index_of(self, path: str) -> QModelIndex:
        """Where a path is shown; invalid if it is not."""
        node = self.tree.by_path.get(path)
        return self.createIndex(node.place, 0, node.id) if node is not None and node.id else QModelIndex()

    def state(self, node: Node) -> str:
        """LEARN, LEAVE or MIXED; what the user has just ticked counts at once."""
        pending = self._pending.get(node.path)
        return node.state if pending is None else LEARN if pending else LEAVE

    # ---- what Qt asks

    def index(self, row: int, column: int, parent: Index = QModelIndex()) -> QModelIndex:  # noqa: B008
        children = self.node(parent).children
        if not 0 <= row < len(children) or not 0 <= column < len(HEADINGS):
            return QModelIndex()
        return self.createIndex(row, column, children[row].id)

    def parent(self, index: Index = None) -> QModelIndex:
        if index is None:
            return super().parent()
        above = self.node(index).parent if index.isValid() else None
        return QModelIndex() if above is None or above.id == 0 else self.createIndex(above.place, 0, above.id)

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return 0 if parent.column() > 0 else len(self.node(parent).children)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008
        return len(HEADINGS)

    def flags(self, index: Index) -> Qt.ItemFlag:
        flags = super().flags(index)
        return flags | Qt.ItemFlag.ItemIsUserCheckable if index.column() == NAME else flags

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole):
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.DisplayRole:
            return HEADINGS[section]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return RIGHT if section in NUMBERS else LEFT
        if role == Qt.ItemDataRole.InitialSortOrderRole:  # largest first: the worst loss is what one looks for
            order = Qt.SortOrder.DescendingOrder if section in NUMBERS else Qt.SortOrder.AscendingOrder
            return order.value
        if role == Qt.ItemDataRole.ToolTipRole:
            return tip_words(TIPS[section].format(self._losses_of)) or None
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole):
        node, column = self.node(index), index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return self.words(node, column)
        if role == Qt.ItemDataRole.CheckStateRole and column == NAME:
            return STATES[self.state(node)]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return RIGHT if column in NUMBERS else LEFT
        if role == Qt.ItemDataRole.ToolTipRole:
            words = node.path if column == NAME else self.words(node, column) if column == VERDICT else ""
            return tip_words(words if node.fits else f"{words}\n{KEPT}".lstrip()) or None
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return f"{HEADINGS[column]}: {self.words(node, column) or 'none'}"
        return None

    def setData(self, index: Index, value, role: int = Qt.ItemDataRole.EditRole) -> bool:
        if role != Qt.ItemDataRole.CheckStateRole or index.column() != NAME:
            return False
        self.toggle(index)
        return True

    def toggle(self, index: Index) -> None:
        """Learn what is left out, or leave out what is learned; of a folder with both, learn all."""
        node = self.node(index)
        learn = self.state(node) != LEARN
        self._pending[node.path] = learn
        self.dataChanged.emit(index.siblingAtColumn(0), index.siblingAtColumn(len(HEADINGS) - 1))
        self.override_wanted.emit(node.path, learn)

    def words(self, node: Node, column: int) -> str:
        """The text of a cell."""
        if column == NAME:
            return node.name
        if column == LANGUAGE:
            return language_words(node.file.language) if node.file is not None and node.file.language else ""
        if column == SIZE:
            return nbytes(node.size) if node.size else ""
        if column == TOKENS:
            return f"{node.tokens:,}" if node.tokens else ""
        if column == VERDICT:
            if node.path in self._pending:
                return "will be learned" if self._pending[node.path] else "will be left out"
            return node.words
        loss = self.shown_losses.get(node.path)
        return "" if loss is None else f"{loss:.2f}"
