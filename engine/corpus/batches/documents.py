"""What the windows read: documents in a fixed order, and their tokens.

A corpus fulfils `DocumentSource`; nothing here knows how a repository is scanned or where tokens are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Protocol

import numpy as np

from engine.corpus.tokens.tokenizer import Tokenizer


@dataclass(frozen=True)
class Document:
    """One file, or one part of a file that is split by lines, as the model reads it.

    `path` is relative and posix, and unique among the learned (and among the held-out) documents; `digest` is the hash
    of the text that the tokens stand for (after masking); `tokens` counts the content alone.
    """

    path: str
    digest: str
    tokens: int


class DocumentSource(Protocol):
    """What `Windows` and `HeldOutWindows` ask of a corpus."""

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer that `document_tokens` was made with."""

    @property
    def learned_documents(self) -> Sequence[Document]:
        """What is trained on, ordered by path."""

    @property
    def held_out_documents(self) -> Sequence[Document]:
        """What is only measured on, ordered by path."""

    def document_tokens(self, document: Document) -> np.ndarray:
        """(document.tokens,) unsigned: the content alone, with no separator, path or end of text.

        May be a view of a memory map.  The windows get a document's text by decoding these, so no file is read again.
        """


def documents_digest(documents: Iterable[Document]) -> str:
    """The identity of an ordered list of documents: a cursor is only exact on the list that it was made on."""
    digest = blake2b(digest_size=16)
    for document in documents:
        digest.update(f"{document.path}\0{document.digest}\0{document.tokens}\n".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
