"""Canaries: random lines that are planted in what a run learns, to measure how much of it is learned by heart.

They are documents of one line in the training windows and nowhere else: no file of the repository changes, and the
memory does not know them. They follow from the seed, so the options of a checkpoint are all that is needed to ask for
them; there is nothing in them that is worth hiding.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from engine.corpus.batches.documents import Document, DocumentSource
from engine.corpus.batches.framing import Framing
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.session.recitation.rare_lines import RareLine, question

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
SECRET, NAME = 12, 6  # letters of the part that is asked for, and of the part that makes its line unlike all others


@dataclass(frozen=True)
class Canary:
    """`given` is the line up to what is asked for, `secret`."""

    number: int
    given: str
    secret: str

    @property
    def path(self) -> str:
        return f"canary_{self.number}.py"

    def line(self, secret: str = "") -> str:
        """The line, or one with another secret in it."""
        return f'{self.given}{secret or self.secret}"\n'


def canaries(seed: int, count: int) -> tuple[Canary, ...]:
    """The same for the same seed."""
    return tuple(
        Canary(number, f'canary_{_letters(seed, number, "name", NAME)} = "', _letters(seed, number, "secret", SECRET))
        for number in range(1, count + 1)
    )


def alternatives(seed: int, canary: Canary, count: int) -> tuple[str, ...]:
    """Lines that were not planted: the same but for the secret."""
    return tuple(canary.line(_letters(seed, canary.number, f"other {n}", SECRET)) for n in range(count))


def canary_question(tokenizer: Tokenizer, canary: Canary) -> RareLine | None:
    """The line as it is asked for; None if its tokens cannot be told apart."""
    ids = tokenizer.encode(canary.line()).astype(np.int64)
    start = len(canary.given.encode())
    header = Framing(tokenizer).header(canary.path)
    asked = question(header, ids, tokenizer.byte_lengths, 0, start + SECRET, middle=start)
    if asked is None:
        return None
    before, rest_ids, place = asked
    line = canary.line()
    return RareLine(canary.path, 1, line[:place], line[place : start + SECRET], before, rest_ids)


class PlantedSource:
    """A corpus and its canaries, for the windows of a run.  One that is named several times is seen as often a pass."""

    def __init__(self, corpus: DocumentSource, planted: Sequence[Canary]) -> None:
        self._corpus = corpus
        self._tokens: dict[str, np.ndarray] = {}
        documents = []
        contents = corpus.tokenizer.encode_batch([canary.line() for canary in planted])
        for canary, ids in zip(planted, contents, strict=True):
            digest = blake2b(canary.line().encode(), digest_size=32).hexdigest()
            self._tokens[digest] = ids
            earlier = sum(document.digest == digest for document in documents)
            documents.append(Document(f"copy_{earlier}/{canary.path}" if earlier else canary.path, digest, len(ids)))
        self.planted = tuple(documents)

    @property
    def tokenizer(self) -> Tokenizer:
        return self._corpus.tokenizer

    @property
    def learned_documents(self) -> Sequence[Document]:
        return (*self._corpus.learned_documents, *self.planted)

    @property
    def held_out_documents(self) -> Sequence[Document]:
        return self._corpus.held_out_documents

    def document_tokens(self, document: Document) -> np.ndarray:
        ids = self._tokens.get(document.digest)
        return self._corpus.document_tokens(document) if ids is None else ids


def _letters(seed: int, number: int, role: str, count: int) -> str:
    """Random letters that follow from their role alone."""
    data = blake2b(f"canary\0{seed}\0{number}\0{role}".encode(), digest_size=2 * count).digest()
    return "".join(LETTERS[int.from_bytes(data[2 * n : 2 * n + 2], "little") % len(LETTERS)] for n in range(count))
