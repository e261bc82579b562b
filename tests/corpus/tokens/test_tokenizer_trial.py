"""Tokenizers whose regular expression never comes to an end: refused on import, and an ordinary error in use."""

from __future__ import annotations

import threading

import pytest

from engine.corpus.tokens.tokenizer import Tokenizer
from engine.corpus.tokens.tokenizer_files import QWEN_PATTERN
from engine.corpus.tokens.tokenizer_training import train_description
from engine.corpus.tokens.tokenizer_trial import try_tokenizer
from engine.errors import TokenizerError


def with_pattern(pattern: str) -> Tokenizer:
    description = train_description(["def f(x):\n    return x\n"] * 20, 300)
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
    description["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [split, byte_level]}
    return Tokenizer(description, "some tokenizer")


@pytest.mark.parametrize("pattern", [r"(a+)+b", r"(x+x+)+y", r"(\w+\s?)+\$", r"^(([a-z])+.)+[A-Z]([a-z])+$"])
def test_an_expression_that_backtracks_without_end_is_refused(pattern):
    with pytest.raises(TokenizerError, match="some tokenizer"):
        try_tokenizer(with_pattern(pattern))


def test_a_panic_of_the_library_is_an_ordinary_error():
    with pytest.raises(TokenizerError, match="some tokenizer"):
        with_pattern(r"(a+)+b").encode("a" * 64)


def test_sound_tokenizers_pass():
    try_tokenizer(with_pattern(QWEN_PATTERN))
    try_tokenizer(Tokenizer.train(["x = 1\n"] * 20, 300))


def test_one_that_takes_too_long_is_refused_and_its_thread_ends(monkeypatch):
    tokenizer, asked, go_on = with_pattern(QWEN_PATTERN), [], threading.Event()

    def slow(text):
        asked.append(text)
        go_on.wait()

    monkeypatch.setattr(tokenizer, "encode", slow)
    with pytest.raises(TokenizerError, match="some tokenizer"):
        try_tokenizer(tokenizer, seconds=0.01)
    trial = next(thread for thread in threading.enumerate() if thread.name == "tokenizer trial")
    go_on.set()
    trial.join()
    assert len(asked) == 1
