"""The held-out split of a repository over time: which files are similar, and which side each is on.

`split` and `held_out_parts` decide; this remembers the decisions, so that a file does not change sides when others are
added, deleted, changed or renamed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from engine.corpus.batches.held_out_parts import HeldOutFile, choose_scoring
from engine.corpus.batches.split import (
    Candidate,
    Newest,
    Portion,
    is_held_out_by_hash,
    newest_paths,
    split_by_commits,
    split_by_path,
)
from engine.corpus.reading.duplicate_candidates import Resemblance
from engine.corpus.reading.kinds import Kind
from engine.corpus.reading.overrides import Choice, Overrides
from engine.corpus.reading.rules import HeldOutBy, ScanSettings
from engine.corpus.reading.verdict import FileVerdict, Reason
from engine.corpus.reading.verdict_cache import VerdictCache

COPIES = (Reason.DUPLICATE, Reason.NEAR_DUPLICATE)
MOST_FORGOTTEN = 1000  # sides of deleted files that are kept, because another branch may bring the files back


class HeldOut:
    """Groups and sides of the files of a repository."""

    def __init__(self, root: Path, settings: ScanSettings, cache: VerdictCache) -> None:
        self.portion = Portion(settings.held_out_share, settings.held_out_min_files, settings.held_out_min_token_share)
        self.note = ""
        self._root = root
        self._by_commits = settings.held_out_by is HeldOutBy.COMMITS
        self._cache = cache
        self._basis = ""
        self._newest: Newest | None = None
        self._sides: dict[str, bool] = {}
        self._scoring: dict[str, bool] = {}  # of held-out files: whether they are used for scores only
        self._groups: dict[str, str] = {}  # of files that are similar to another one
        self._candidates: dict[str, Candidate] = {}
        self._changed: set[str] = set()  # candidates that changed since the last split
        self._moved: set[str] = set()  # those of them that are new or in another group
        self._settled = False
        self._unsaved = False
        self._files_of: dict[str, int] = {}  # learned files by group
        self._files = self._tokens = self._held_files = self._held_tokens = 0

    def begin(self, wanted: Callable[[str], bool]) -> None:
        """Before a scan: read the newest commits, and the sides from last time."""
        self.note = ""
        basis = f"path {self.portion}"
        self._newest = newest_paths(self._root, wanted) if self._by_commits else None
        if self._newest is not None:
            basis = f"commits {self._newest.commit} {self.portion}"
        elif self._by_commits:
            self.note = "There is no git history, so held-out files are chosen by path."
        if basis != self._basis:
            self._basis = basis
            self._sides, self._scoring = self._cache.load_sides(basis)
        self._settled = False

    def follow(self, gone: Mapping[str, str], come: Iterable[FileVerdict]) -> None:
        """Keep the side of renamed files: new ones with the content of one in `gone` (path to digest)."""
        before = {digest: path for path, digest in gone.items() if digest and path in self._sides}
        for verdict in come:
            old = before.get(verdict.digest)
            if old is not None and verdict.path not in self._sides:
                self._sides[verdict.path] = self._sides[old]
                if old in self._scoring:
                    self._scoring[verdict.path] = self._scoring[old]
                self._unsaved = True

    def group(self, verdicts: Iterable[FileVerdict], like: Resemblance, overrides: Overrides) -> None:
        """Group similar files.  No file outside `verdicts` is similar to one of them."""
        links: dict[str, str] = {}

        def first(path: str) -> str:
            while (link := links.get(path, path)) != path:
                path = link
            return path

        def join(a: str, b: str) -> None:
            a, b = sorted((first(a), first(b)))
            links[b] = a

        for verdict in verdicts:
            self._groups.pop(verdict.path, None)
            if verdict.reason in COPIES and verdict.other:
                join(verdict.path, verdict.other)
            elif verdict.learn and overrides.for_path(verdict.path) is Choice.LEARN:
                # Learned however similar it is to others.
                for other in like.like(verdict.path):
                    join(verdict.path, other)
        for path in (*links, *links.values()):
            self._groups[path] = first(path)

    def note_files(self, gone: Iterable[str], verdicts: Iterable[FileVerdict]) -> None:
        """Note files that were deleted, added or changed."""
        for path in gone:
            self._count(self._candidates.pop(path, None), -1)
        for verdict in verdicts:
            path = verdict.path
            before = self._candidates.pop(path, None)
            self._count(before, -1)
            if not verdict.learn and verdict.reason not in COPIES:
                continue
            group = self._groups.get(path, path)
            tokens = (verdict.tokens or 0) if verdict.learn else 0
            self._candidates[path] = candidate = Candidate(
                path, tokens, group, verdict.learn, verdict.kind is Kind.CODE
            )
            self._count(candidate, 1)
            self._changed.add(path)
            if before is None or before.group != group or before.learned != verdict.learn:
                self._moved.add(path)

    def _count(self, candidate: Candidate | None, sign: int) -> None:
        if candidate is None or not candidate.learned:
            return
        self._files += sign
        self._tokens += sign * candidate.tokens
        self._files_of[candidate.group] = files = self._files_of.get(candidate.group, 0) + sign
        if not files:
            del self._files_of[candidate.group]
        if self._sides.get(candidate.path):
            self._held_files += sign
            self._held_tokens += sign * candidate.tokens

    @property
    def is_alone(self) -> bool:
        """True if there is nothing to choose from: a single file, or files that are all similar."""
        return self.portion.share > 0 and len(self._files_of) == 1

    def split(self) -> dict[str, bool]:
        """The side of every file whose side may have changed since the last call: True for held out."""
        sides = self._sides_of_changed() if self._settled else None
        full = sides is None
        if sides is None:
            if self._newest is not None:
                sides = split_by_commits(self._candidates.values(), self._newest.paths, self._sides, self.portion)
            else:
                sides = split_by_path(self._candidates.values(), self._sides, self.portion)
        self._changed.clear()
        self._moved.clear()
        self._settled = True
        other = {path: side for path, side in sides.items() if self._sides.get(path) is not side}
        self._sides.update(other)
        if not full:
            for candidate in (self._candidates[path] for path, side in other.items() if side):
                self._held_files += candidate.learned
                self._held_tokens += candidate.tokens
        else:
            held = [each for each in self._candidates.values() if each.learned and sides[each.path]]
            self._held_files, self._held_tokens = len(held), sum(candidate.tokens for candidate in held)
        self._unsaved = self._unsaved or bool(other)
        return sides

    def choose_scoring(self, held_out: Iterable[FileVerdict]) -> frozenset[str] | None:
        """After the split: the held-out files that are used for scores only; None if there are too few to reserve any.

        Saves these decisions, and the sides.
        """
        files = [
            HeldOutFile(
                verdict.path, verdict.size, self._groups.get(verdict.path, verdict.path), verdict.kind is Kind.CODE
            )
            for verdict in held_out
        ]
        chosen = choose_scoring(files, self._scoring)
        other = {path: scores for path, scores in (chosen or {}).items() if self._scoring.get(path) is not scores}
        self._scoring.update(other)
        if other or self._unsaved:
            self._unsaved = False
            if len(self._sides) > 2 * len(self._candidates) + MOST_FORGOTTEN:
                self._sides = {path: self._sides[path] for path in self._candidates}
            self._cache.save_sides(self._basis, self._sides, self._scoring)
        return None if chosen is None else frozenset(path for path, scores in chosen.items() if scores)

    def _sides_of_changed(self) -> dict[str, bool] | None:
        """The sides of changed files in the usual case, where no other file changes sides; None if all must be split.

        The usual case: enough files on both sides, and no file has become similar to others.
        """
        sides = {}
        for path in self._changed & self._candidates.keys():
            side = self._sides.get(path)
            if (path in self._moved and path in self._groups) or (side is None and self._newest is not None):
                return None
            sides[path] = (
                is_held_out_by_hash(self._candidates[path], self._tokens, self.portion) if side is None else side
            )
        enough = (
            self._held_files >= self.portion.least_files
            and self._held_tokens >= self.portion.least_tokens * self._tokens
            and self._held_files < self._files
        )
        return sides if enough else None
