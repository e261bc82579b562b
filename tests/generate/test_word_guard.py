"""A half-typed word becomes a name that exists, as long as one does."""

from __future__ import annotations

import numpy as np
import pytest

from engine.generate.healing import TypedTokens
from engine.generate.word_guard import WordGuard
from engine.memory.names import Names, count_names
from tests.generate.small import tokenizer


def guard(word: bytes, *texts: bytes) -> WordGuard:
    return WordGuard(b" " + word, word, (Names(lambda: count_names(texts)),))


def left(one: WordGuard, done: bytes, wanted: list[bytes]) -> set[bytes]:
    """The tokens that are left when `wanted` are the likely ones."""
    tokens = TypedTokens(tokenizer())
    probabilities = np.full(tokenizer().vocab_size, 1e-9)
    for data in wanted:
        probabilities[tokenizer().token_bytes.index(data)] = 1.0
    found = one.pass_over(probabilities, tokens, done)
    assert found.sum() == pytest.approx(probabilities.sum()) or found.sum() == pytest.approx(1.0)
    return {tokenizer().token_bytes[token] for token in np.argsort(-found)[: len(wanted)] if found[token] > 1e-6}


def test_tokens_that_make_a_word_that_exists_nowhere_are_passed_over():
    one = guard(b"pri", b"price = print(1)")
    assert left(one, b" pri", [b"c", b"n", b"e", b"("]) == {b"c", b"n"}
    assert left(one, b" pric", [b"e", b"n"]) == {b"e"}
    assert one.is_over(b" price(") and not one.is_over(b" pric")


def test_the_word_may_not_end_where_no_name_does():
    one = guard(b"pri", b"price")
    assert left(one, b" pric", [b"e", b"("]) == {b"e"}


def test_a_word_that_is_a_name_may_end():
    assert left(guard(b"price", b"price + prices"), b" price", [b"s", b"(", b"x"]) == {b"s", b"("}


def test_where_nothing_that_exists_fits_nothing_is_passed_over():
    one = guard(b"xyz", b"price")
    assert one.is_over(b" xyz") and left(one, b" xyz", [b"c", b"n"]) == {b"c", b"n"}


def test_only_an_unlikely_token_may_fit():
    one = guard(b"pri", b"price")
    tokens = tokenizer()
    probabilities = np.linspace(1, 2, tokens.vocab_size)
    probabilities[tokens.token_bytes.index(b"e")] = 1e-6
    found = one.pass_over(probabilities, TypedTokens(tokens), b" pric")
    assert tokens.token_bytes[int(np.argmax(found))] == b"e" and found.max() == 1.0
