"""Texts, tokenizers of every kind and a small corpus for the tests of this folder."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from hypothesis import strategies as st
from tokenizers import Regex, models, normalizers, pre_tokenizers, processors, trainers
from tokenizers import Tokenizer as Library

from engine.corpus.batches.documents import Document
from engine.corpus.tokens.tokenizer import Tokenizer

# All of Unicode, lone surrogates too, with what source code and tokenizers stumble over more often than by chance.
every_text = st.text(
    st.one_of(
        st.characters(exclude_categories=()),
        st.sampled_from(" \t\r\n\0_.()=ABab01é中\u0301\u200d👩💻\ud800\udfff"),
        st.characters(codec="ascii"),
    )
) | st.lists(
    st.sampled_from(
        ["<|endoftext|>", "<|file|>", "<|fim_prefix|>", "    ", "\r\n", "\t", "def f(x):", "\n\n", "á", "12"]
    )
).map("".join)


SOURCES = (
    *("argparse", "ast", "bisect", "calendar", "cmd", "code", "csv", "dataclasses", "difflib", "enum", "fractions"),
    *(
        "heapq",
        "inspect",
        "json.decoder",
        "json.encoder",
        "pprint",
        "queue",
        "shlex",
        "statistics",
        "string",
        "textwrap",
    ),
    *("typing", "uuid", "zipfile"),
)


@cache
def source_texts() -> tuple[str, ...]:
    """Source code that does not change while the tests run: some of Python's own."""
    return tuple(Path(find_spec(name).origin).read_text(encoding="utf-8") for name in SOURCES)


@cache
def trained() -> Tokenizer:
    """A tokenizer trained here."""
    return Tokenizer.train(source_texts(), 1024)


def write_gpt2_style(folder: Path, *, end_of_text: bool = True) -> Path:
    """vocab.json and merges.txt as GPT-2 has them."""
    library = Library(models.BPE())
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.train_from_iterator(source_texts()[:8], _trainer(600))
    model = json.loads(library.to_str())["model"]
    vocab = model["vocab"] | ({"<|endoftext|>": len(model["vocab"])} if end_of_text else {})
    (folder / "vocab.json").write_text(json.dumps(vocab), encoding="utf-8")
    lines = ["#version: 0.2", *(" ".join(merge) for merge in model["merges"])]
    (folder / "merges.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def write_neox_style(folder: Path) -> Path:
    """tokenizer.json like GPT-NeoX (which Mamba models use): NFC, runs of spaces as added tokens, no FIM."""
    library = Library(models.BPE())
    library.normalizer = normalizers.NFC()
    library.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    library.post_processor = processors.ByteLevel(trim_offsets=True)
    library.train_from_iterator(source_texts()[:8], _trainer(500, ["<|endoftext|>", "<|padding|>"]))
    library.add_tokens([" " * count for count in range(24, 1, -1)])
    library.save(str(folder / "tokenizer.json"))
    return folder


def write_qwen_style(folder: Path) -> Path:
    """tokenizer.json like Qwen 2.5 Coder: NFC, and FIM tokens that are not flagged as special."""
    library = Library(models.BPE())
    library.normalizer = normalizers.NFC()
    pattern = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    library.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    library.train_from_iterator(source_texts()[:8], _trainer(500))
    library.add_special_tokens(["<|endoftext|>"])
    library.add_tokens(["<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>", "<|file_sep|>"])
    library.save(str(folder / "tokenizer.json"))
    return folder


def write_style(folder: Path, special: list[str], *, splits_digits: bool = True) -> Path:
    """tokenizer.json with special tokens of these names."""
    library = Library(models.BPE())
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False)
    digits = pre_tokenizers.Digits(individual_digits=True)
    library.pre_tokenizer = pre_tokenizers.Sequence([digits, byte_level]) if splits_digits else byte_level
    library.train_from_iterator(source_texts()[:8], _trainer(500, special))
    library.save(str(folder / "tokenizer.json"))
    return folder


def _trainer(vocab_size: int, special: list[str] | None = None) -> trainers.BpeTrainer:
    return trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=special or [],
        show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )


@dataclass
class TextSource:
    """A corpus in memory: fulfils `DocumentSource`."""

    tokenizer: Tokenizer
    learned: dict[str, str]
    held_out: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._tokens: dict[str, np.ndarray] = {}
        self.learned_documents = self._documents(self.learned)
        self.held_out_documents = self._documents(self.held_out)

    def document_tokens(self, document: Document) -> np.ndarray:
        return self._tokens[document.digest]

    def _documents(self, texts: dict[str, str]) -> list[Document]:
        documents = []
        for path, text in sorted(texts.items()):
            ids = self.tokenizer.encode(text)
            documents.append(Document(path, f"{len(text)}-{hash(text)}", len(ids)))
            self._tokens[documents[-1].digest] = ids
        return documents


def source_corpus() -> TextSource:
    """Python's own source, the last files held out."""
    named = {f"lib/file_{number:02}.py": text for number, text in enumerate(source_texts())}
    held_out = dict(list(named.items())[-5:])
    return TextSource(trained(), {path: text for path, text in named.items() if path not in held_out}, held_out)
