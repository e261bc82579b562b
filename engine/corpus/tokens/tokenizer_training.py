"""A byte-level BPE trained on source code.

How text is split before merging decides what a token can be. Digits stand alone, so numbers are spelled the same way
everywhere. A line break takes the indentation of the next line with it, and other runs of blanks stay whole, so that
indentation is one token. Punctuation and names are apart, so that a completion after `self.` starts at a token. Every
class is made of ASCII characters, and all others count as letters: the same bytes split the same way with any version
of Unicode.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from tokenizers import AddedToken, Regex, decoders, models, pre_tokenizers, trainers
from tokenizers import Tokenizer as Library

from engine.corpus.tokens.special_tokens import TRAINED_SPECIAL_TOKENS
from engine.errors import TokenizerError

CODE_PATTERN = (
    r"[0-9]"
    r"|[\r\n]+[ \t]*"
    r"| ?_*[A-Za-z\x{80}-\x{10ffff}]+"
    r"| ?_+"
    r"| ?[^\t\n\x{b}\f\r 0-9A-Z_a-z\x{80}-\x{10ffff}]+"
    r"|[ \t]+"
    r"|[\x{b}\f]+"
)
LEAST_VOCABULARY = 256 + len(TRAINED_SPECIAL_TOKENS)
LARGEST_VOCABULARY = 1 << 20
LONGEST_TOKEN = 32  # rulers of "=====" would take entries that names need

SURROGATES = re.compile("([\ud800-\udfff]+)")


def train_description(texts: Iterable[str], vocab_size: int) -> dict[str, Any]:
    """The description of a tokenizer with at most `vocab_size` entries: fewer where the texts give no more merges.

    The same texts give the same description, whatever their order.
    """
    if not LEAST_VOCABULARY <= vocab_size <= LARGEST_VOCABULARY:
        raise TokenizerError(
            f"A vocabulary of {vocab_size} entries cannot be trained.",
            f"Choose {LEAST_VOCABULARY} (every byte and the special tokens) to {LARGEST_VOCABULARY}.",
        )
    library = Library(models.BPE())
    library.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(CODE_PATTERN), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    library.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=2,
        show_progress=False,
        special_tokens=[AddedToken(token, special=True, normalized=False) for token in TRAINED_SPECIAL_TOKENS],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        max_token_length=LONGEST_TOKEN,
    )
    # The library takes no lone surrogates; as rare as they are, no merge is lost.
    library.train_from_iterator((SURROGATES.sub(" ", text) for text in texts), trainer)
    return json.loads(library.to_str())
