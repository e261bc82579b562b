"""Tokens of a text that changes a little: the same as of the whole, and only what differs is tokenised."""

from __future__ import annotations

import numpy as np
import pytest

from engine.generate import text_tokens
from engine.generate.text_tokens import TextTokens
from tests.generate.small import SOURCE, plain_tokenizer, tokenizer


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(text_tokens, "BLOCK", 50)


@pytest.mark.parametrize("tokens", [tokenizer, plain_tokenizer], ids=["own", "plain"])
def test_the_ids_are_those_of_the_whole_text(tokens):
    kept = TextTokens(tokens())
    for text in (SOURCE * 3, SOURCE * 3 + "x", SOURCE, "", SOURCE * 2):
        np.testing.assert_array_equal(kept.ids_of(text), tokens().encode(text))


def test_only_the_last_block_is_tokenised_again(monkeypatch):
    tokens = tokenizer()
    kept, asked, plain = TextTokens(tokens), [], tokens.encode_batch
    monkeypatch.setattr(tokens, "encode_batch", lambda texts: asked.append(sum(map(len, texts))) or plain(texts))
    kept.ids_of(SOURCE * 9)
    kept.ids_of(SOURCE * 9 + "x")
    kept.ids_of(SOURCE * 9 + "x")
    assert asked[0] > 3 * asked[1] > 0 == asked[2]


def test_of_a_very_long_text_the_end_counts(monkeypatch):
    monkeypatch.setattr(text_tokens, "MOST", 100)
    text = SOURCE * 2
    assert tokenizer().decode(TextTokens(tokenizer()).ids_of(text)) == text[-100:]
