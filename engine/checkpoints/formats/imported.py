"""The result of every import: a model that is not in the store yet, with notes on where it came from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine.corpus.tokens.tokenizer import Tokenizer
from engine.corpus.tokens.tokenizer_files import MAX_FILE_BYTES, read_description
from engine.corpus.tokens.tokenizer_trial import try_tokenizer
from engine.errors import CheckpointError
from engine.model.architectures.architecture import Architecture
from engine.safe_reading import read_plain
from engine.tensor_file import not_finite

TOKENIZER_FILES = ("tokenizer.json", "vocab.json", "merges.txt", "added_tokens.json", "tokenizer_config.json")


@dataclass(frozen=True)
class Imported:
    """Parameters are read, checked for finiteness, when they are asked for; all shapes have been checked before."""

    config: Architecture
    parameters: Mapping[str, np.ndarray]
    tokenizer: bytes | None  # the content of a tokenizer.json
    precision: str  # the one in which nothing is lost: float32, bfloat16 or float16
    source: str
    notes: tuple[str, ...] = ()


def tokenizer_content(path: Path, vocab_size: int) -> bytes:
    """The tokenizer at `path` (tokenizer.json, vocab.json with merges.txt, or their folder) as a tokenizer.json."""
    beside = path if path.is_dir() else path.parent
    for file in (beside / name for name in TOKENIZER_FILES):
        if file.exists() and not file.is_file():
            raise CheckpointError(f"{file} is not a regular file.", "Copy the file itself there.")
    tokenizer = Tokenizer.load(path)
    try_tokenizer(tokenizer)
    if not tokenizer.fits(vocab_size):
        raise CheckpointError(
            f"{path} has ids up to {tokenizer.vocab_size - 1}; the model has {vocab_size} entries.",
            "Choose the tokenizer that belongs to the model.",
        )
    file = path / "tokenizer.json" if path.is_dir() else path
    if file.name == "tokenizer.json" and file.is_file():
        return read_plain(file.resolve(), MAX_FILE_BYTES)
    return (json.dumps(read_description(path), ensure_ascii=False, indent=1) + "\n").encode()


def check_finite(array: np.ndarray, name: str, where: str) -> np.ndarray:
    """`array`, if all its numbers are finite."""
    if bad := not_finite(array):
        raise CheckpointError(f"{where}: {name} holds {bad} NaN or infinite values.", "The model is damaged.")
    return array
