"""The files of a repository as a tree: folders with sums, filtered and sorted.  No Qt.

Sorted by the model's loss it is a flat list, because the worst files may be in any folder.

Rebuilt for every filter, so that the view never asks Python about hidden rows.  A tree of 20,000 files takes a
good part of a second on a busy machine, so `tree_builder` has large ones built beside the window's thread.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from app.values.repository import FileRow
from app.values.words import counted

NAME, LANGUAGE, SIZE, TOKENS, VERDICT, LOSS = range(6)
COLUMN_NAMES = ("name", "language", "size", "tokens", "verdict", "loss")  # in the settings
LEARN, LEAVE, MIXED = "learn", "leave", "mixed"


class FileNode:
    """A file, or a folder that is left out as a whole (its path ends with "/")."""

    __slots__ = ("file", "fits", "id", "name", "parent", "place")

    children: tuple[Node, ...] = ()
    count = 1

    def __init__(self, name: str, parent: Folder, file: FileRow, fits: bool) -> None:
        self.name, self.parent, self.file = name, parent, file
        self.fits = fits  # False: it no longer passes the filter and is only kept in sight
        self.id = self.place = 0  # in `FileTree.nodes`, and among the parent's children

    @property
    def path(self) -> str:
        return self.file.path

    @property
    def learned(self) -> int:
        return int(self.file.learn)

    @property
    def held_out(self) -> int:
        return int(self.file.held_out)

    @property
    def size(self) -> int:
        return self.file.size

    @property
    def tokens(self) -> int:
        return self.file.tokens or 0

    @property
    def state(self) -> str:
        """LEARN or LEAVE."""
        return LEARN if self.file.learn else LEAVE

    @property
    def words(self) -> str:
        """The verdict."""
        return verdict_words(self.file)


class Folder:
    """A folder with the sums of what is shown in it."""

    __slots__ = (
        "children",
        "count",
        "files",
        "folders",
        "held_out",
        "id",
        "learned",
        "name",
        "parent",
        "path",
        "place",
        "size",
        "tokens",
    )

    file = None
    fits = True

    def __init__(self, name: str, path: str, parent: Folder | None) -> None:
        self.name, self.path, self.parent = name, path, parent
        self.folders: list[Node] = []  # also those that are left out as a whole
        self.files: list[Node] = []
        self.children: list[Node] = []  # both, once they are sorted
        self.id = self.place = 0
        self.count = self.learned = self.held_out = self.size = self.tokens = 0

    @property
    def state(self) -> str:
        """LEARN, LEAVE, or MIXED."""
        return LEAVE if not self.learned else LEARN if self.learned == self.count else MIXED

    @property
    def words(self) -> str:
        """How much of it is learned."""
        return folder_words(self)


Node = FileNode | Folder


def verdict_words(file: FileRow) -> str:
    """Whether a file is learned, and why not."""
    if not file.learn:
        reason, detail = file.reason_words or file.reason, file.detail
        if not reason or reason.startswith("left out"):  # by you
            return reason or "left out"
        if file.reason == "duplicate" and detail:  # names the other file in the same words
            return f"left out: {detail}"
        if detail and detail != file.language:
            return f"left out: {reason.removesuffix(' as another file')} ({detail})"
        return f"left out: {reason}"
    masked = f", {counted(file.masked_lines, 'line')} masked" if file.masked_lines else ""
    words = f"held out{masked or ' for scoring'}" if file.held_out else f"learn{masked}"
    return f"{words}, chosen by you" if file.overridden else words


def folder_words(folder: Folder) -> str:
    """How much of a folder is learned."""
    if folder.state == LEAVE:
        return f"{counted(folder.count, 'file')} left out"
    taught = folder.learned - folder.held_out
    learned = counted(taught, "file") if folder.state == LEARN else f"{taught:,} of {counted(folder.count, 'file')}"
    parts = [f"{learned} to learn"] if taught else []
    parts += [f"{folder.held_out:,} held out"] if folder.held_out else []
    return ", ".join(parts)


@dataclass(frozen=True)
class Kept:
    """Rows that stay in sight although they no longer pass the filter: the user has just ticked or unticked them."""

    paths: frozenset[str] = frozenset()
    folders: tuple[str, ...] = ()  # rows of whole folders: once a folder is learned, its files replace the row

    def __contains__(self, path: str) -> bool:
        return path in self.paths or path.startswith(self.folders)

    def with_node(self, node: Node) -> Kept:
        """And everything that is shown of this file or folder."""
        if node.file is not None:
            folders = (*self.folders, node.path) if node.path.endswith("/") else self.folders
            return Kept(self.paths | {node.path}, folders)
        paths, waiting = {node.path}, list(node.children)
        for each in waiting:  # grows while it is walked
            paths.add(each.path)
            waiting.extend(each.children)
        return Kept(self.paths | paths, self.folders)


class FileTree:
    """`nodes` by id; 0 is the root.  Chains of folders with nothing else in them are one row: "src/main/java"."""

    def __init__(
        self,
        files: Iterable[FileRow] = (),
        accept: Callable[[FileRow], bool] | None = None,
        column: int = NAME,
        descending: bool = False,
        losses: dict[str, float] | None = None,
        kept: Kept | None = None,
    ) -> None:
        self.order = (column, descending)
        self.fitting = 0  # files that pass the filter
        self.root = Folder("", "", None)
        self._folders = {"": self.root}
        for file in files:
            fits = accept is None or accept(file)
            if fits or (kept is not None and file.path in kept):
                self._add(file, fits, column == LOSS)
                self.fitting += fits
        for folder in reversed(list(self._folders.values())):  # what is inside was made after what it is in
            if (parent := folder.parent) is not None:
                parent.count += folder.count
                parent.learned += folder.learned
                parent.held_out += folder.held_out
                parent.size += folder.size
                parent.tokens += folder.tokens
        for folder in self._folders.values():
            self._sort(folder, column, descending, losses or {})
        self.nodes = self._number()
        self.by_path = {node.path: node for node in self.nodes}

    def _add(self, file: FileRow, fits: bool, as_list: bool) -> None:
        path = file.path
        if as_list:
            folder = self.root
            folder.files.append(FileNode(path, folder, file, fits))
        else:
            is_folder = path.endswith("/")
            place, _, name = (path[:-1] if is_folder else path).rpartition("/")
            folder = self._folders.get(place) or self._folder(place)
            (folder.folders if is_folder else folder.files).append(
                FileNode(f"{name}/" if is_folder else name, folder, file, fits)
            )
        folder.count += 1
        folder.size += file.size
        if file.learn:
            folder.learned += 1
            folder.held_out += file.held_out
            folder.tokens += file.tokens or 0

    def _folder(self, path: str) -> Folder:
        """The folder of that path, made with those above it."""
        made, parent = "", self.root
        for name in path.split("/"):
            made = f"{made}/{name}" if made else name
            folder = self._folders.get(made)
            if folder is None:
                folder = self._folders[made] = Folder(f"{name}/", f"{made}/", parent)
                parent.folders.append(folder)
            parent = folder
        return parent

    @staticmethod
    def _sort(folder: Folder, column: int, descending: bool, losses: dict[str, float]) -> None:
        keys = {
            SIZE: lambda node: node.size,
            TOKENS: lambda node: node.tokens,
            LANGUAGE: lambda node: (node.file.language if node.file else "").casefold(),
            VERDICT: lambda node: (node.state, node.words),
            LOSS: lambda node: losses.get(node.path, -math.inf if descending else math.inf),  # not scored: last
        }
        for nodes in (folder.folders, folder.files):
            if len(nodes) > 1:
                nodes.sort(key=lambda node: node.name.casefold(), reverse=descending and column == NAME)
                if column in keys:
                    nodes.sort(key=keys[column], reverse=descending)
        folder.children = folder.folders + folder.files

    def _number(self) -> list[Node]:
        """Join chains of folders, and give every node its id and its place."""
        nodes: list[Node] = [self.root]
        for node in nodes:  # grows while it is walked
            for place, child in enumerate(node.children):
                while child.file is None and len(child.children) == 1 and child.children[0].file is None:
                    only = child.children[0]
                    only.name, only.parent = f"{child.name}{only.name}", node
                    node.children[place] = child = only
                child.place, child.id = place, len(nodes)
                nodes.append(child)
        return nodes
