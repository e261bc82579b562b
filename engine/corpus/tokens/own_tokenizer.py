"""A tokenizer trained on a repository's own files, once: for installations without the starter model, which has one."""

from __future__ import annotations

import contextlib

from engine.corpus.repository import Repository
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.errors import TokenizerError

LARGEST, SMALLEST = 8192, 512  # entries
BYTES_AN_ENTRY = 256  # a small repository has few words
MOST_CHARACTERS = 4 << 20  # more does not change the words


def own_tokenizer(repository: Repository) -> Tokenizer:
    """The one that is kept for this repository, or a new one.  The repository has been listed."""
    path = repository.folder / "tokenizer.json"
    with contextlib.suppress(TokenizerError):
        return Tokenizer.load(path)
    size = sum(verdict.size for verdict in repository.learned_files())
    entries = min(LARGEST, max(SMALLEST, size // BYTES_AN_ENTRY))
    tokenizer = Tokenizer.train(repository.learned_texts(MOST_CHARACTERS), entries)
    if size:
        # Where nothing can be kept, the scan says so itself.
        with contextlib.suppress(TokenizerError, OSError):
            tokenizer.save(path)
    return tokenizer
