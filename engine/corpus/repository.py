"""A folder of source code as the trainer sees it: scanned once, then updated change by change.

    scan:    list every file ─▶ tokenise what is new ─▶ split ─▶ Corpus
    update:  the same for the changed paths and the files that resemble them

A scan of an unchanged folder opens none of its files.  A `Repository` belongs to one thread; a `Corpus` to all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from engine.corpus.batches.documents import Document
from engine.corpus.batches.held_out import HeldOut
from engine.corpus.batches.held_out_parts import SHARED
from engine.corpus.batches.split import Portion
from engine.corpus.corpus import Corpus
from engine.corpus.reading.known_folders import KnownFolder
from engine.corpus.reading.listing import Change, Listing
from engine.corpus.reading.overrides import Overrides, save_overrides
from engine.corpus.reading.rules import Reading, ScanSettings
from engine.corpus.reading.scan_progress import Progress, Watch
from engine.corpus.reading.verdict import FileVerdict
from engine.corpus.tokens.token_cache import TokenCache
from engine.corpus.tokens.tokenising import Parts, parts_of, texts_of, tokenise
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.errors import CorpusError

MOST_ROUNDS = 5  # of tokenising, when files change in the meantime
TOKENISING = "Tokenising"

Cancelled = Callable[[], bool]


def corpus_at(
    root: Path,
    data_folder: Path,
    tokenizer: Tokenizer,
    known: Corpus | None = None,
    progress: Progress | None = None,
    cancelled: Cancelled | None = None,
) -> Corpus:
    """The repository at `root` in these tokens: `known`, if that is it, or else what a scan finds."""
    if known is not None and known.has_tokens and (known.root, known.tokenizer.digest) == (root, tokenizer.digest):
        return known
    return Repository(root, data_folder, tokenizer).scan(progress, cancelled)


class Repository:
    """The repository at `root`.  Without a tokenizer it can be listed, not scanned."""

    def __init__(
        self,
        root: Path | str,
        data_folder: Path | str,
        tokenizer: Tokenizer | None = None,
        settings: ScanSettings | None = None,
    ) -> None:
        self.settings = settings or ScanSettings()
        self._listing = Listing(root, data_folder, self.settings)
        self._held_out = HeldOut(self.root, self.settings, self._listing.remembered)
        self._verdicts: dict[str, FileVerdict] = {}
        self._documents: dict[str, tuple[Document, Document | None]] = {}  # the second if it is split at its end
        self._split_at_end: Portion | None = None
        self._scoring: frozenset[str] | None = None  # held-out files that only score; None: all are shared
        self._tokens: TokenCache | None = None
        self.tokenizer: Tokenizer | None = None
        if tokenizer is not None:
            self.use_tokenizer(tokenizer)

    @property
    def root(self) -> Path:
        return self._listing.root

    @property
    def folder(self) -> Path:
        """The folder with everything stored about this repository, inside the data folder."""
        return self._listing.remembered.folder

    @property
    def overrides(self) -> Overrides:
        """The user's choices as last applied."""
        return self._listing.overrides

    def use_tokenizer(self, tokenizer: Tokenizer) -> None:
        """Use this tokenizer from now on; each tokenizer has its own cache."""
        self.tokenizer = tokenizer
        folder = self._listing.data_folder / "tokens" / tokenizer.digest
        self._tokens = TokenCache(folder, tokenizer.vocab_size)
        self._documents = {}

    def list_files(self, progress: Progress | None = None, cancelled: Cancelled | None = None) -> Corpus:
        """Every file with its verdict, without tokens and without a split."""
        self._list(Watch(progress, cancelled))
        return self._corpus(with_tokens=False)

    def scan(self, progress: Progress | None = None, cancelled: Cancelled | None = None) -> Corpus:
        """Check every file; read and tokenise what is new.

        `cancelled` is polled often; when it returns true, the scan ends within a tenth of a second with a
        `ScanCancelledError`, and finished work is kept.
        """
        self._require_tokenizer()
        watch = Watch(progress, cancelled)
        self._list(watch)
        return self._finish(watch)

    def tokenise(self, progress: Progress | None = None, cancelled: Cancelled | None = None) -> Corpus:
        """Continue after `list_files`, without listing the folder again."""
        self._require_tokenizer()
        watch = Watch(progress, cancelled)
        if not self._verdicts:
            self._list(watch)
        return self._finish(watch)

    def update(
        self,
        changed_paths: Iterable[Path | str],
        progress: Progress | None = None,
        cancelled: Cancelled | None = None,
    ) -> Corpus:
        """Update files and folders that were created, changed, deleted or renamed (pass both names), absolute or
        relative to the root.  A changed ignore file updates its whole folder.  After a cancelled update, pass the same
        paths again."""
        self._require_tokenizer()
        watch = Watch(progress, cancelled)
        if not self._verdicts:
            self._list(watch)
        else:
            self._apply(self._listing.change(changed_paths, watch))
        return self._finish(watch)

    def choose(
        self, overrides: Overrides, progress: Progress | None = None, cancelled: Cancelled | None = None
    ) -> Corpus:
        """Save the user's choices and apply them."""
        save_overrides(self._listing.data_folder, self.root, overrides)
        return self.list_files(progress, cancelled) if self._tokens is None else self.scan(progress, cancelled)

    def learned_files(self) -> list[FileVerdict]:
        """The verdicts of all files that are learned or held out, by path."""
        return [verdict for path in self._listing.paths if (verdict := self._verdicts[path]).learn]

    def learned_texts(self, most_characters: int) -> Iterator[str]:
        """Texts of learned files, spread evenly over the repository: for training a tokenizer."""
        learned = self.learned_files()
        size = sum(verdict.size for verdict in learned)
        for verdict in learned[:: max(1, -(-size // most_characters))]:
            text = self._listing.text_at_hand(verdict.path)
            text = self._listing.read_again(verdict.path).text if text is None else text
            if text is not None:
                yield text

    def _list(self, watch: Watch) -> None:
        change = self._listing.look_at_all(watch)
        self._held_out.note_files(self._verdicts, ())
        learned = {verdict.path for verdict in change.verdicts if verdict.learn}
        self._held_out.begin(learned.__contains__)
        self._verdicts = {}
        self._apply(change)

    def _apply(self, change: Change) -> None:
        for path in change.gone:
            self._verdicts.pop(path, None)
            self._documents.pop(path, None)
        for verdict in change.verdicts:
            self._verdicts[verdict.path] = verdict
            self._documents.pop(verdict.path, None)
        self._held_out.follow(change.gone, change.verdicts)
        self._held_out.group(change.verdicts, self._listing.like, self.overrides)
        self._held_out.note_files(change.gone, change.verdicts)

    def _finish(self, watch: Watch) -> Corpus:
        """Tokenise what has no tokens yet, split, and return the corpus."""
        for _ in range(MOST_ROUNDS):
            at_end = self._held_out.portion if self._held_out.is_alone else None
            if at_end is not self._split_at_end:
                self._split_at_end = at_end
                self._documents = {}
            moved = self._tokenise(watch)
            if not moved:
                break
            gone = {reading.entry.path for reading in moved if self._listing.has_vanished(reading)}
            self._apply(self._listing.replace(gone, [each for each in moved if each.entry.path not in gone]))
        else:
            raise CorpusError(
                f"The files in {self.root} change faster than they can be read.", "Scan again when they have settled."
            )
        self._listing.drop_texts()
        for path, side in self._held_out.split().items():
            verdict = self._verdicts[path]
            held_out = side and verdict.learn
            if verdict.held_out != held_out:
                self._verdicts[path] = replace(verdict, held_out=held_out)
        self._scoring = self._held_out.choose_scoring(each for each in self._verdicts.values() if each.held_out)
        corpus = self._corpus(with_tokens=True)
        self._note(corpus)
        return corpus

    def _note(self, corpus: Corpus) -> None:
        """Keep how large the folder is, for the list of all folders."""
        size = corpus.totals.learned
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._listing.remembered.save_about(KnownFolder(str(self.root), size.files, size.bytes, size.tokens, now))

    def _tokenise(self, watch: Watch) -> list[Reading]:
        """Tokenise every learned file; returns new readings of files that changed in the meantime."""
        waiting = [path for path in self._listing.paths if self._verdicts[path].learn and path not in self._documents]
        missing: dict[Parts, str] = {}
        for position, path in enumerate(waiting):
            if position % 256 == 0:
                watch.check()
            parts = parts_of(self._verdicts[path], self._split_at_end)
            if not self._take_tokens(path, parts):
                missing.setdefault(parts, path)
        if not missing:
            return []
        moved: list[Reading] = []
        done = 0

        def texts() -> Iterator[tuple[bytes, str]]:
            for parts, path in missing.items():
                watch.check()
                text = self._listing.text_at_hand(path)
                if text is None:
                    reading = self._listing.read_again(path)
                    text = reading.text
                    if text is None or parts_of(reading.verdict, self._split_at_end) != parts:
                        moved.append(self._listing.without_text(reading))
                        continue
                yield from texts_of(text, parts, self._held_out.portion)

        def report(count: int) -> None:
            nonlocal done
            done = min(len(missing), done + count)
            watch.step(done, len(missing), TOKENISING)

        watch.step(0, len(missing), TOKENISING)
        tokenise(texts(), self.tokenizer, self._tokens, watch, report)
        for path in waiting:
            if path not in self._documents:
                self._take_tokens(path, parts_of(self._verdicts[path], self._split_at_end))
        return moved

    def _take_tokens(self, path: str, parts: Parts) -> bool:
        """Record a file's documents if all of its tokens are in the cache."""
        learned = self._tokens.count(parts.learned)
        held_out = 0 if parts.held_out is None else self._tokens.count(parts.held_out)
        if learned is None or held_out is None:
            return False
        end = Document(path, parts.held_out.hex(), held_out) if held_out else None
        self._documents[path] = (Document(path, parts.learned.hex(), learned), end)
        self._verdicts[path] = verdict = replace(self._verdicts[path], tokens=learned + held_out)
        self._held_out.note_files((), [verdict])
        return True

    def _corpus(self, *, with_tokens: bool) -> Corpus:
        listing = self._listing
        files = tuple(self._verdicts[path] for path in listing.paths)
        secrets = [listing.readings[path].secrets for path in listing.paths]
        notes = [listing.remembered.note, self._held_out.note]
        learned: list[Document] = []
        held_out: list[Document] = []
        if with_tokens:
            for verdict in files:
                if verdict.learn:
                    document, end = self._documents[verdict.path]
                    (held_out if verdict.held_out else learned).append(document)
                    if end is not None:
                        held_out.append(end)
            if self._split_at_end is not None and held_out:
                notes.append("There are no other files to hold out, so the last lines are held out instead.")
            if self._scoring is None and held_out:
                notes.append(SHARED)
            notes.append(self._tokens.note)
        return Corpus(
            self.root,
            files,
            tuple(finding for found in secrets if found for finding in found),
            tuple(filter(None, notes)),
            tuple(learned),
            *self._parts(held_out),
            self.tokenizer if with_tokens else None,
            self._tokens if with_tokens else None,
        )

    def _parts(self, held_out: list[Document]) -> tuple[tuple[Document, ...], tuple[Document, ...]]:
        """Validation and scoring: the same where there is too little for two parts."""
        scoring = self._scoring
        if scoring is None:
            return tuple(held_out), tuple(held_out)
        return tuple(d for d in held_out if d.path not in scoring), tuple(d for d in held_out if d.path in scoring)

    def _require_tokenizer(self) -> None:
        if self.tokenizer is None:
            raise CorpusError("The repository has no tokenizer.", "Set one with `use_tokenizer`.")
