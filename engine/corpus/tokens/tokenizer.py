"""The tokenizer: text to ids and back, exactly.

`decode(encode(text)) == text` for every text, and no text gives a special token, whatever it contains.  The merging is
done by `tokenizers`, or by `code_merges` for a tokenizer that was trained here; decoding is a table of bytes, because a
token may hold half a character.

Lone surrogates have no UTF-8. They are written as the three bytes that UTF-8 would give them (`surrogatepass`);
`tokenizers` takes no such text, so there they go byte by byte, and the text around them its usual way.
"""

from __future__ import annotations

import codecs
import contextlib
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer as Library

from engine.atomic_file import replace_file
from engine.corpus.tokens.byte_alphabet import CHARACTER_OF_BYTE, bytes_of_token
from engine.corpus.tokens.code_merges import CodeMerges
from engine.corpus.tokens.special_tokens import SpecialTokens, exact_description, roles, special_ids
from engine.corpus.tokens.taught_fim import former_names, with_fim, without_fim
from engine.corpus.tokens.tokenizer_files import check_description, read_description
from engine.corpus.tokens.tokenizer_training import SURROGATES, train_description
from engine.errors import TokenizerError

__all__ = ["IncrementalDecoder", "SpecialTokens", "Tokenizer"]

# Said aloud, the library does not warn on every fork. A forked child has none of its threads and would wait for them.
os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: os.environ.__setitem__("TOKENIZERS_PARALLELISM", "false"))

# The library keeps about 200 bytes for each token of a call, so a call gets this many characters.
CHARACTERS_AT_ONCE = 1 << 19

PROBE = "def naïve(x):\r\n\t  return  '\u212b e\u0301 中 👩‍💻' + \"<|endoftext|>\" # 1234  \n\n    \0"


class Tokenizer:
    """A byte-level BPE: `vocab_size` is the highest id + 1, `dtype` the smallest unsigned integer that holds an id.

    `digest` is the identity for caches: the same over save and load, and where only names of control tokens differ
    (`taught_fim`); another one where a text gives other ids.
    """

    def __init__(self, description: dict[str, Any], name: str) -> None:
        check_description(description, name)
        self._description, self.name = description, name
        ids = special_ids(description)
        self.has_taught_fim = bool(former_names(description))
        self.special: SpecialTokens = roles(ids, description, name, self.has_taught_fim)
        self.special_ids: frozenset[int] = frozenset(ids.values())
        exact = exact_description(description, ids)
        self._library = self._opened(exact)
        self._merges = CodeMerges(exact["model"]) if CodeMerges.can_read(exact) else None
        vocab, added = description["model"]["vocab"], description.get("added_tokens") or []
        self._names = {token["id"]: token["content"] for token in added} | {i: token for token, i in vocab.items()}
        self.vocab_size: int = max(self._names) + 1
        self.dtype: np.dtype = np.dtype(np.uint16 if self.vocab_size <= 1 << 16 else np.uint32)
        self._bytes = [b""] * self.vocab_size
        for number, token in self._names.items():
            self._bytes[number] = b"" if number in self.special_ids else bytes_of_token(token)
        for token in added:
            if token["id"] not in self.special_ids:
                self._bytes[token["id"]] = token["content"].encode()
        nothing = self.special.end_of_text  # for bytes that no text has (see DISPENSABLE_BYTES)
        self._byte_ids = np.array([vocab.get(character, nothing) for character in CHARACTER_OF_BYTE], self.dtype)
        lost = {byte: None for byte, character in enumerate(CHARACTER_OF_BYTE[:128]) if character not in vocab}
        if self.decode(self.encode(PROBE)) != PROBE.translate(lost):
            raise TokenizerError(f"{name} does not reproduce a text exactly.", "Choose another tokenizer.")

    @classmethod
    def load(cls, path: Path | str) -> Tokenizer:
        """tokenizer.json, vocab.json (with merges.txt beside it), or a folder that holds either."""
        return cls(read_description(Path(path)), str(path))

    @classmethod
    def train(cls, texts: Iterable[str], vocab_size: int = 8192) -> Tokenizer:
        """A new tokenizer with at most `vocab_size` entries; the same texts give the same one."""
        return cls(train_description(texts, vocab_size), "the trained tokenizer")

    def save(self, path: Path | str) -> None:
        """To a file, or as tokenizer.json into a folder; what was there is replaced at once or not at all."""
        path = Path(path)
        path = path / "tokenizer.json" if path.is_dir() else path
        try:
            replace_file(path, self.to_json())
        except OSError as error:
            raise TokenizerError(f"{path} cannot be written: {error.strerror or error}.") from error

    def to_json(self) -> str:
        """The content of a tokenizer.json."""
        return json.dumps(self._description, ensure_ascii=False, indent=1)

    @cached_property
    def digest(self) -> str:
        return digest_of(self._description)

    def with_taught_fim(self) -> Tokenizer | None:
        """This one with roles for filling in on control tokens that nothing uses; None where there are too few."""
        description = None if self.has_fim else with_fim(self._description)
        return None if description is None else Tokenizer(description, self.name)

    def without_taught_fim(self) -> Tokenizer:
        """This one without the roles that `with_taught_fim` gave."""
        return Tokenizer(without_fim(self._description), self.name) if self.has_taught_fim else self

    @property
    def uses_library(self) -> bool:
        """Whether texts are split by the library, with an expression that came with the file."""
        return self._merges is None

    @property
    def has_fim(self) -> bool:
        """Whether there are tokens to fill in a middle with."""
        return None not in self.special.fim

    def fits(self, model_vocab_size: int) -> bool:
        """Whether a model with this many entries knows every id (models often have a few more, for rounding)."""
        return self.vocab_size <= model_vocab_size

    def token(self, number: int) -> str:
        """The vocabulary's entry for an id; "" if there is none."""
        return self._names.get(number, "")

    @property
    def token_bytes(self) -> Sequence[bytes]:
        """The bytes of text that each id stands for; none for special tokens."""
        return self._bytes

    @cached_property
    def byte_lengths(self) -> np.ndarray:
        """(vocab_size,) int32: how many bytes of text each id stands for; 0 for special tokens."""
        return np.array([len(data) for data in self._bytes], np.int32)

    def encode(self, text: str) -> np.ndarray:
        """The ids of `text`, never a special one."""
        return self.encode_batch([text])[0]

    def encode_batch(self, texts: Sequence[str]) -> list[np.ndarray]:
        """The ids of each text; on all cores and without the GIL."""
        groups = list(_groups(texts))
        if self._merges is None:
            return [ids for group in groups for ids in self._encode_by_library(group)]
        if len(groups) < 2:
            return [ids for group in groups for ids in self._encode_by_merges(group)]
        with ThreadPoolExecutor(min(len(groups), os.cpu_count() or 1)) as threads:
            return [ids for group in threads.map(self._encode_by_merges, groups) for ids in group]

    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """The bytes of `ids`; special tokens, and ids that only a larger model has, stand for none."""
        numbers = ids.tolist() if isinstance(ids, np.ndarray) else list(ids)
        if numbers and min(numbers) < 0:
            raise TokenizerError(f"{min(numbers)} is not a token id.")
        try:
            return b"".join(map(self._bytes.__getitem__, numbers))
        except IndexError:
            return b"".join(self._bytes[number] for number in numbers if number < self.vocab_size)

    def decode(self, ids: Iterable[int], *, surrogates: bool = True) -> str:
        """The text of `ids`.  Bytes that are no character become U+FFFD; so do lone surrogates if not `surrogates`."""
        data = self.decode_bytes(ids)
        return data.decode("utf-8", "codecoil-surrogates" if surrogates else "replace")

    def _encode_by_merges(self, texts: Sequence[str]) -> list[np.ndarray]:
        encode = self._merges.encode
        return [encode(text.encode("utf-8", "surrogatepass")).astype(self.dtype) for text in texts]

    def _encode_by_library(self, texts: Sequence[str]) -> list[np.ndarray]:
        """The library takes no lone surrogates: a text is cut around them."""
        pieces = [_pieces(text) for text in texts]
        valid = [piece for parts in pieces for piece in parts[::2]]
        with self._library_errors("cannot split a text"):
            encodings = iter(self._library.encode_batch_fast(valid, add_special_tokens=False))
        result = []
        for parts in pieces:
            ids = [
                self._byte_ids[np.frombuffer(piece.encode("utf-8", "surrogatepass"), np.uint8)]
                if place % 2
                else np.array(next(encodings).ids, self.dtype)
                for place, piece in enumerate(parts)
            ]
            result.append(np.concatenate(ids) if len(ids) > 1 else ids[0])
        return result

    def _opened(self, description: dict[str, Any]) -> Library:
        with self._library_errors("is damaged"):
            return Library.from_str(json.dumps(description))

    @contextlib.contextmanager
    def _library_errors(self, what: str) -> Iterator[None]:
        """Turn the library's errors into ours: it raises bare Exception, and its panics are only BaseException."""
        try:
            yield
        except (KeyboardInterrupt, SystemExit, MemoryError):
            raise
        except BaseException as error:
            cause = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            raise TokenizerError(f"{self.name} {what}: {cause}.", "Choose another tokenizer.") from error


def digest_of(description: dict[str, Any]) -> str:
    """`Tokenizer.digest` of a description."""
    description = without_fim(description)
    parts = {key: description.get(key) for key in ("model", "pre_tokenizer", "added_tokens")}
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(b"codecoil tokens 1\n" + text.encode()).hexdigest()[:32]


def _groups(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """`texts` in order, some CHARACTERS_AT_ONCE at a time."""
    begin = characters = 0
    for end, text in enumerate(texts, start=1):
        characters += len(text)
        if characters >= CHARACTERS_AT_ONCE or end == len(texts):
            yield texts[begin:end]
            begin, characters = end, 0


def _pieces(text: str) -> list[str]:
    """`text` cut around its lone surrogates: valid text and surrogates in turn, the first and the last valid."""
    return [text] if text.isascii() else SURROGATES.split(text)


def _surrogates_or_replacement(error: UnicodeError) -> tuple[str, int]:
    """Three bytes that are a surrogate come back as one; anything else that is no character becomes U+FFFD."""
    assert isinstance(error, UnicodeDecodeError)
    data = error.object[error.start : error.start + 3]
    if len(data) == 3 and data[0] == 0xED and 0xA0 <= data[1] <= 0xBF and 0x80 <= data[2] <= 0xBF:
        return data.decode("utf-8", "surrogatepass"), error.start + 3
    return "\ufffd", error.end


codecs.register_error("codecoil-surrogates", _surrogates_or_replacement)


class IncrementalDecoder:
    """Text from a stream of ids, for showing while it is generated: `feed` ids as they come, `finish` at the end.

    A token may end within a character; what is not yet a whole character is held back. What can never become one is
    shown as U+FFFD, so the text is always valid Unicode. Joined, the pieces are `decode(ids, surrogates=False)`.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, ids: int | Iterable[int]) -> str:
        """The characters that `ids` complete; "" where there are none yet."""
        ids = [ids] if isinstance(ids, int) or not isinstance(ids, Iterable) else ids
        return self._decoder.decode(self._tokenizer.decode_bytes(ids))

    @property
    def pending(self) -> bool:
        """Whether bytes of an unfinished character are held back."""
        return bool(self._decoder.getstate()[0])

    def finish(self) -> str:
        """What is left, with U+FFFD for an unfinished character; the decoder is then reset."""
        rest = self._decoder.decode(b"", final=True)
        self._decoder.reset()
        return rest
