"""What a scan gives: every file with its verdict, and the documents that the windows read.

A `Corpus` never changes; `Repository.update` gives a new one that shares what is the same.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine.corpus.batches.documents import Document
from engine.corpus.reading.kinds import Kind
from engine.corpus.reading.verdict import FileVerdict, Reason, SecretFinding
from engine.corpus.tokens.token_cache import TokenCache, tokens_or_raise
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.errors import CorpusError


@dataclass(frozen=True, slots=True)
class Tally:
    """How much of something there is.  `tokens` counts learned and held-out files only."""

    files: int = 0
    bytes: int = 0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Totals:
    """A corpus in numbers; `learned` includes the held-out files, which `held_out` counts separately."""

    all: Tally
    learned: Tally
    held_out: Tally
    by_language: dict[str, Tally]
    """Of what is learned, most tokens first."""
    by_reason: dict[Reason, Tally]
    """Of what is left out, most files first.  A folder that was not entered counts as one."""


@dataclass(frozen=True, eq=False)
class Corpus:
    """The files of a repository at one moment.  Fulfils `DocumentSource` once it has tokens."""

    root: Path
    files: tuple[FileVerdict, ...]
    """Every file, by path."""
    secrets: tuple[SecretFinding, ...]
    notes: tuple[str, ...]
    """What a person should know about this scan, in whole sentences."""
    learned_documents: tuple[Document, ...] = ()
    validation_documents: tuple[Document, ...] = ()
    """Held out; a run keeps the step that does best on these."""
    scoring_documents: tuple[Document, ...] = ()
    """Held out; only scores look at these.  The same as validation where there is too little for two parts."""
    _tokenizer: Tokenizer | None = None
    _cache: TokenCache | None = None

    @property
    def has_tokens(self) -> bool:
        """False for a list of files that has not been tokenised or split yet."""
        return self._cache is not None

    @property
    def tokenizer(self) -> Tokenizer:
        if self._tokenizer is None:
            raise CorpusError("These files have not been tokenised yet.", "Set the repository's tokenizer and scan it.")
        return self._tokenizer

    def with_tokenizer(self, tokenizer: Tokenizer) -> Corpus:
        """The same files under a tokenizer that gives the same ids: only control tokens have other names in it."""
        if tokenizer.digest != self.tokenizer.digest:
            raise CorpusError(
                f"{tokenizer.name} is not the tokenizer that {self.root} was read with.", "Scan the repository again."
            )
        return dataclasses.replace(self, _tokenizer=tokenizer)

    @functools.cached_property
    def held_out_documents(self) -> tuple[Document, ...]:
        """Everything that is only measured on, by path: validation and scoring."""
        if self.shares_held_out:
            return self.validation_documents
        return tuple(sorted((*self.validation_documents, *self.scoring_documents), key=lambda each: each.path))

    @property
    def shares_held_out(self) -> bool:
        """True if scores have no files of their own."""
        return self.scoring_documents == self.validation_documents

    def code_among(self, documents: Iterable[Document]) -> tuple[Document, ...]:
        """Those that are code, not prose, data, configuration or generated."""
        return tuple(document for document in documents if self.by_path[document.path].kind is Kind.CODE)

    @functools.cached_property
    def validation_code(self) -> tuple[Document, ...]:
        """The code that runs, merges and precisions are measured on: that of validation, or if there is none, all of
        validation."""
        return self.code_among(self.validation_documents) or self.validation_documents

    @functools.cached_property
    def by_path(self) -> dict[str, FileVerdict]:
        return {verdict.path: verdict for verdict in self.files}

    @functools.cached_property
    def _documents_by_path(self) -> dict[str, list[Document]]:
        parts: dict[str, list[Document]] = {}
        for document in (*self.learned_documents, *self.held_out_documents):
            parts.setdefault(document.path, []).append(document)
        return parts

    def document_tokens(self, document: Document) -> np.ndarray:
        """(document.tokens,) unsigned, a view of the memory map."""
        if self._cache is None:
            raise CorpusError("These files have not been tokenised yet.", "Set the repository's tokenizer and scan it.")
        return tokens_or_raise(self._cache, bytes.fromhex(document.digest), document.path)

    def tokens(self, path: str) -> np.ndarray:
        """The tokens of one file, memory-mapped.  A file that is split by lines gives its learned part first."""
        parts = self._documents_by_path.get(path)
        if not parts:
            raise CorpusError(f"{path} was not tokenised.", "Only files that are learned or held out are.")
        arrays = [self.document_tokens(document) for document in parts]
        return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)

    @functools.cached_property
    def totals(self) -> Totals:
        """Counted once, when asked for."""
        learned = [verdict for verdict in self.files if verdict.learn]
        return Totals(
            all=_tally(self.files),
            learned=_tally(learned),
            held_out=self._held_out_tally(),
            by_language=_by((verdict.language, verdict) for verdict in learned),
            by_reason=_by((verdict.reason, verdict) for verdict in self.files if verdict.reason and not verdict.learn),
        )

    def _held_out_tally(self) -> Tally:
        sizes = [self.by_path[document.path].size for document in self.held_out_documents]
        return Tally(len(sizes), sum(sizes), sum(document.tokens for document in self.held_out_documents))


def _tally(verdicts: Iterable[FileVerdict]) -> Tally:
    files = size = tokens = 0
    for verdict in verdicts:
        files += 1
        size += verdict.size
        if verdict.learn and verdict.tokens:
            tokens += verdict.tokens
    return Tally(files, size, tokens)


def _by(pairs: Iterable[tuple[str, FileVerdict]]) -> dict:
    groups: dict = {}
    for key, verdict in pairs:
        groups.setdefault(key, []).append(verdict)
    tallies = {key: _tally(verdicts) for key, verdicts in groups.items()}
    return dict(sorted(tallies.items(), key=lambda item: (-item[1].tokens, -item[1].files, item[0])))
