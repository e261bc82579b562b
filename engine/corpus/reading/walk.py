"""Walks a folder: every file once, with the rule that ignores it, if any.

Follows the project's own rules: `.gitignore` at every level, `.git/info/exclude`, and `.codecoilignore`, which is
written for this program and therefore decides before the other two. Of files of one kind the deeper one decides. Where
the folder is a part of a git repository, the ignore files above it count too.

Never enters `.git`, never leaves the root, and no error stops it: a folder that cannot be listed is an entry with an
error. A link to a file inside the root is an entry of its own; a linked folder is entered last,
and only if it was not reached under its own path, so a loop of links cannot be followed.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from engine.corpus.reading.gitignore import IgnoreFile, as_bytes_text
from engine.corpus.reading.safe_opening import read_file
from engine.errors import CorpusError

ANY_CASE = sys.platform in ("win32", "darwin")
LARGEST_IGNORE_FILE = 4 << 20
LONGEST_GIT_LINE = 4096  # bytes: a path
NEVER_ENTERED = frozenset({".git", ".hg", ".svn", ".jj"})
PROGRESS_EVERY = 500
NO_FILE = "a pipe, socket or device, not a file"
BROKEN_LINK = "broken link"
Progress = Callable[[int], None]
EnterIgnored = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Entry:
    """A file, or a folder that was not entered (then `path` ends with "/")."""

    path: str
    size: int = 0
    mtime_ns: int = 0
    inode: int = 0
    ignored: str = ""
    """The rule that excludes it (".gitignore line 3: *.log"); empty if none does."""
    error: str = ""
    """Why it cannot be read; empty if it can."""
    outside: bool = False
    """A link that points outside the root; never followed."""
    link: str = ""
    """The path inside the root (as `path`) that this link points to; empty if it is not a link."""

    @property
    def is_folder(self) -> bool:
        return self.path.endswith("/")


@dataclass(frozen=True, slots=True)
class _Level:
    """A folder to list, with what is known on the way to it."""

    path: str  # "" for the root, otherwise "a/b/"
    real: str  # the folder on disk
    # (rules, number of characters of `above + path` that lead to their folder), the one that decides first in front
    git: tuple[tuple[IgnoreFile, int], ...]
    own: tuple[tuple[IgnoreFile, int], ...]
    # The same in one row, each with the way from its folder to this one; filled in when the folder is listed.
    asked: tuple[tuple[IgnoreFile, str], ...] = ()
    ignored: str = ""  # the rule that leaves the whole folder out, when it is entered all the same


def source_folder(given: Path | str) -> Path:
    """The folder that a user named, resolved.  Raises CorpusError if it is not there, or if nothing was named."""
    if not os.fspath(given).strip():  # for Path, "" is the current folder
        raise CorpusError("No folder was named.", 'Name a folder of source code ("." is the current one).')
    folder = Path(os.path.expanduser(given)).absolute()
    if not folder.is_dir():
        raise CorpusError(
            f"{folder} is not a folder." if folder.exists() else f"The folder {folder} does not exist.",
            "Choose a folder of source code; if it is on a drive that is not connected, connect the drive.",
        )
    return folder.resolve()


def walk(root: Path, progress: Progress | None = None, *, enter_ignored: EnterIgnored | None = None) -> Iterator[Entry]:
    """Every file under `root`, folder by folder, names in order; raises CorpusError only if root is no folder.

    `progress` is called now and then with the number of entries so far. `enter_ignored(folder)` says whether to enter
    an ignored folder ("a/b") anyway (pass `Overrides.reaches_into`); what is found in it is still `ignored`.
    """
    walker = _Walker(root, enter_ignored)
    seen = 0
    for seen, entry in enumerate(walker.below(walker.top()), 1):
        if progress is not None and seen % PROGRESS_EVERY == 0:
            progress(seen)
        yield entry
    if progress is not None:
        progress(seen)


def walk_some(root: Path, paths: Iterable[str], *, enter_ignored: EnterIgnored | None = None) -> Iterator[Entry]:
    """The entries for these paths only (relative to root; files or folders), each as `walk` would give it.

    A path that no longer exists, or that `walk` would not reach (inside `.git`), yields nothing; one inside an ignored
    folder yields that folder's entry, once.
    """
    walker = _Walker(root, enter_ignored)
    given: set[str] = set()
    levels: dict[str, _Level | None] = {"": walker.with_own_rules(walker.top())}
    for path in sorted({path.strip("/") for path in paths}):
        for entry in walker.at(path, levels):
            if entry.path not in given:
                given.add(entry.path)
                yield entry


class _Walker:
    """The state of one walk: where it is allowed to go and where it has been."""

    def __init__(self, root: Path, enter_ignored: EnterIgnored | None) -> None:
        self.root = os.fspath(source_folder(root))
        self.enter_ignored = enter_ignored or (lambda folder: False)
        self.been: set[tuple[int, int]] = set()
        self.above = ""  # the way from the git repository's top to the root, "" or "a/b/"
        self.linked: list[tuple[_Level, str, str]] = []

    def top(self) -> _Level:
        """The root, with the rules that apply before its own are read."""
        return _Level("", self.root, self._rules_above(), ())

    def below(self, top: _Level) -> Iterator[Entry]:
        """All entries below a folder, linked folders last."""
        yield from self._folders([top])
        while self.linked:
            level, name, target = self.linked.pop(0)
            yield from self._linked_folder(level, name, target)

    def at(self, path: str, levels: dict[str, _Level | None]) -> Iterator[Entry]:
        """The entries for one path; `levels` caches the folders on its path ("a/b/"), None if one is not entered."""
        if not path:
            yield from self.below(self.top())
            return
        folder, _, name = path.rpartition("/")
        stopped = self._way_to(folder, levels)
        level = levels[f"{folder}/" if folder else ""]
        if stopped is not None:
            yield stopped
        if level is not None:
            found = self._only(level, name)
            if isinstance(found, Entry):
                yield found
            elif found is not None:
                yield from self._folders([found])
        while self.linked:
            level, name, target = self.linked.pop(0)
            inside = self._inside(target) or ""
            self._way_to(inside, levels)
            if levels[f"{inside}/" if inside else ""] is not None:
                yield Entry(f"{level.path}{name}/", link=inside or "./")  # met in its own place
            else:
                yield from self._linked_folder(level, name, target)

    def _way_to(self, folder: str, levels: dict[str, _Level | None]) -> Entry | None:
        """Add every folder that leads to this one to `levels`; returns the entry that blocks the way, if one does."""
        level, done, stopped = levels[""], "", None
        for name in folder.split("/") if folder else ():
            done += name + "/"
            if done not in levels:
                found = self._only(level, name) if level is not None else None
                levels[done] = self.with_own_rules(found) if isinstance(found, _Level) else None
                stopped = found if isinstance(found, Entry) and found.is_folder else stopped
            level = levels[done]
        return stopped

    def _only(self, level: _Level, name: str) -> Entry | _Level | None:
        """What the walk would find under this name in a folder."""
        if name in NEVER_ENTERED or name in (".", ".."):
            return None
        try:
            return self._judge(level, _Item(os.path.join(level.real, name), name))
        except OSError:
            return None  # gone, or the way to it is

    def _folders(self, stack: list[_Level]) -> Iterator[Entry]:
        while stack:
            level = stack.pop()
            try:
                status = os.stat(level.real)
                if status.st_ino and (status.st_dev, status.st_ino) in self.been:
                    continue
                self.been.add((status.st_dev, status.st_ino))
                with os.scandir(level.real) as listing:
                    items = sorted(listing, key=_name_of)
            except OSError as error:
                yield Entry(level.path or "./", error=_words(error), ignored=level.ignored)
                continue
            level = self.with_own_rules(level, {item.name for item in items})
            folders = []
            for item in items:
                if item.name in NEVER_ENTERED:
                    continue
                found = self._judge(level, item)
                if isinstance(found, Entry):
                    yield found
                elif found is not None:
                    folders.append(found)
            stack.extend(reversed(folders))

    def _judge(self, level: _Level, item: os.DirEntry | _Item) -> Entry | _Level | None:
        """One name in a folder: an entry, a folder to enter, or nothing yet (a linked folder waits in `linked`)."""
        path = level.path + item.name
        try:
            if item.is_symlink():
                return self._link(level, item.name)
            is_folder = item.is_dir(follow_symlinks=False)
            ignored = level.ignored or self._ignored(level, item.name, is_folder)
            if is_folder:
                if ignored and not self.enter_ignored(path):
                    return Entry(path + "/", ignored=ignored)
                return _Level(path + "/", item.path, level.git, level.own, ignored=ignored)
            status = item.stat(follow_symlinks=False)
        except OSError as error:
            return Entry(path, error=_words(error))
        error = "" if stat.S_ISREG(status.st_mode) else NO_FILE
        return Entry(path, status.st_size, status.st_mtime_ns, status.st_ino, ignored, error)

    def _link(self, level: _Level, name: str) -> Entry | None:
        """A link: an entry if it is to a file inside the root; a folder is queued until everything else was visited."""
        path = level.path + name
        target = os.path.realpath(os.path.join(level.real, name))
        inside = self._inside(target)
        if inside is None:
            broken = "" if os.path.exists(target) else BROKEN_LINK
            return Entry(path, outside=not broken, error=broken)
        ignored = level.ignored or self._ignored(level, name, False)  # for git a link is never a folder
        try:
            status = os.stat(target)
        except OSError:
            return Entry(path, ignored=ignored, error=BROKEN_LINK, link=inside)
        if stat.S_ISDIR(status.st_mode):
            if ignored:
                return Entry(path + "/", ignored=ignored, link=inside)
            self.linked.append((level, name, target))
            return None
        error = "" if stat.S_ISREG(status.st_mode) else NO_FILE
        return Entry(path, status.st_size, status.st_mtime_ns, status.st_ino, ignored, error, link=inside)

    def _linked_folder(self, level: _Level, name: str, target: str) -> Iterator[Entry]:
        path = f"{level.path}{name}/"
        inside = self._inside(target)
        try:
            status = os.stat(target)
            met = (status.st_dev, status.st_ino) in self.been
        except OSError as error:
            yield Entry(path, error=_words(error), link=inside or "")
            return
        if met:
            yield Entry(path, link=inside or "./")
        else:
            yield from self._folders([_Level(path, target, level.git, level.own, ignored=level.ignored)])

    def _inside(self, target: str) -> str | None:
        """The path of something on disk relative to the root; None if it is outside, or where the walk never goes."""
        if target == self.root:
            return ""
        lead = self.root.rstrip(os.sep) + os.sep
        if not target.startswith(lead):
            return None
        inside = target[len(lead) :].replace(os.sep, "/")
        return None if not NEVER_ENTERED.isdisjoint(inside.split("/")) else inside

    def _ignored(self, level: _Level, name: str, is_folder: bool) -> str:
        """The rule that ignores this name, in words; empty if none does."""
        key = as_bytes_text(name)
        for rules, way in level.asked:
            rule = rules.match(way, key, is_folder)
            if rule is not None:
                return "" if rule.keep else rules.describe(rule)
        return ""

    def with_own_rules(self, level: _Level, names: set[str] | None = None) -> _Level:
        """The level with the ignore files in it; `names`: the folder's entries, if known."""
        git, own = level.git, level.own
        way = as_bytes_text(self.above + level.path)
        skip = len(way)
        if names is None or ".git" in names:
            exclude = _exclude_file(level.real)
            if exclude:
                git = (*git, (exclude, skip))  # the last to be asked
        if names is None or ".gitignore" in names:
            git = _in_front(git, os.path.join(level.real, ".gitignore"), level.path + ".gitignore", skip)
        if names is None or ".codecoilignore" in names:
            own = _in_front(own, os.path.join(level.real, ".codecoilignore"), level.path + ".codecoilignore", skip)
        asked = tuple((rules, way[begin:]) for rules, begin in (*own, *git))
        return _Level(level.path, level.real, git, own, asked, level.ignored)

    def _rules_above(self) -> tuple[tuple[IgnoreFile, int], ...]:
        """The ignore files between the top of the git repository that holds the root and the root.

        None if the root is itself such a top, is in no repository, or is ignored there: then it is not a part of it
        (a home folder is often a repository that ignores everything).
        """
        folders = [self.root]
        while not os.path.lexists(os.path.join(folders[-1], ".git")):
            parent = os.path.dirname(folders[-1])
            if parent == folders[-1]:
                return ()
            folders.append(parent)
        folders.reverse()
        level = _Level("", folders[0], (), ())
        for folder in folders[1:]:
            level = self.with_own_rules(level)
            name = os.path.basename(folder)
            if self._ignored(level, name, True):
                return ()
            level = _Level(f"{level.path}{name}/", folder, level.git, ())
        self.above = level.path
        return level.git


class _Item:
    """The part of os.DirEntry that the walk needs, for one path."""

    def __init__(self, path: str, name: str) -> None:
        self.path, self.name = path, name
        self._status = os.lstat(path)

    def is_symlink(self) -> bool:
        return stat.S_ISLNK(self._status.st_mode)

    def is_dir(self, *, follow_symlinks: bool = False) -> bool:
        return stat.S_ISDIR(self._status.st_mode)

    def stat(self, *, follow_symlinks: bool = False) -> os.stat_result:
        return self._status


def _name_of(item: os.DirEntry) -> str:
    return item.name


def _words(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def _in_front(chain: tuple, path: str, words: str, skip: int) -> tuple:
    """The chain of ignore files with the one at `path` asked first, if there is one."""
    rules = _ignore_file(path, words)
    return ((rules, skip), *chain) if rules else chain


def _ignore_file(path: str, words: str) -> IgnoreFile | None:
    """The rules in a file; None if it cannot be read (the walk has an entry for it, which will say so)."""
    try:
        return IgnoreFile(read_file(path, LARGEST_IGNORE_FILE), words, any_case=ANY_CASE)
    except OSError:
        return None


def _exclude_file(folder: str) -> IgnoreFile | None:
    """The rules of .git/info/exclude; in a worktree or a submodule `.git` is a file that says where that folder is."""
    git = os.path.join(folder, ".git")
    if not os.path.isdir(git):
        named = _first_line(git)
        if not named.startswith("gitdir: "):
            return None
        git = os.path.join(folder, named.removeprefix("gitdir: "))
        git = os.path.join(git, _first_line(os.path.join(git, "commondir")))
    return _ignore_file(os.path.realpath(os.path.join(git, "info", "exclude")), ".git/info/exclude")


def _first_line(path: str) -> str:
    """The first line of one of git's own files, which may be a link; empty if it cannot be read."""
    try:
        data = read_file(os.path.realpath(path), LONGEST_GIT_LINE)
    except OSError:
        return ""
    return os.fsdecode(data.partition(b"\n")[0]).strip()
