"""Streaming never shows half a character."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings

from engine.corpus.tokens.byte_alphabet import CHARACTER_OF_BYTE
from engine.corpus.tokens.tokenizer import IncrementalDecoder, Tokenizer

from . import samples


def by_bytes(tokenizer: Tokenizer, data: bytes) -> list[int]:
    """The token of each single byte."""
    number = {tokenizer.token(i): i for i in range(tokenizer.vocab_size)}
    return [number[CHARACTER_OF_BYTE[byte]] for byte in data]


@given(samples.every_text)
@settings(max_examples=300, deadline=None)
def test_the_pieces_are_the_text(text):
    tokenizer = samples.trained()
    text = text.encode("utf-8", "replace").decode()
    ids = tokenizer.encode(text)
    decoder = IncrementalDecoder(tokenizer)
    assert "".join(decoder.feed(int(number)) for number in ids) == text
    assert decoder.finish() == ""


@given(samples.every_text)
@settings(max_examples=300, deadline=None)
def test_byte_by_byte_only_whole_characters_appear(text):
    tokenizer = samples.trained()
    text = text.encode("utf-8", "replace").decode()
    decoder = IncrementalDecoder(tokenizer)
    shown = ""
    for number in by_bytes(tokenizer, text.encode()):
        shown += decoder.feed(number)
        assert text.startswith(shown)
    assert shown + decoder.finish() == text


def test_an_emoji_of_several_characters():
    tokenizer = samples.trained()
    family = "👩‍👩‍👧"
    decoder = IncrementalDecoder(tokenizer)
    pieces = [decoder.feed(number) for number in by_bytes(tokenizer, family.encode())]
    assert [piece for piece in pieces if piece] == list(family)
    assert pieces[:4] == ["", "", "", "👩"]


def test_what_is_not_finished_is_replaced_at_the_end_only():
    tokenizer = samples.trained()
    decoder = IncrementalDecoder(tokenizer)
    assert decoder.feed(by_bytes(tokenizer, "€".encode()[:2])) == ""
    assert decoder.pending
    assert decoder.finish() == "\ufffd"
    assert not decoder.pending
    assert decoder.feed(by_bytes(tokenizer, "€".encode())) == "€"


def test_what_can_never_be_a_character_is_replaced_and_the_rest_goes_on():
    tokenizer = samples.trained()
    data = b"a\xffb\xc3(\xe2\x82x\xed\xa0\x80y\xf0\x9f"
    decoder = IncrementalDecoder(tokenizer)
    ids = by_bytes(tokenizer, data)
    shown = "".join(decoder.feed(number) for number in ids) + decoder.finish()
    assert shown == data.decode("utf-8", "replace") == tokenizer.decode(ids, surrogates=False)
    assert shown.encode()


def test_many_ids_at_once_special_ones_and_arrays():
    tokenizer = samples.trained()
    decoder = IncrementalDecoder(tokenizer)
    ids = tokenizer.encode("größe = 1")
    assert decoder.feed(ids) == "größe = 1"
    assert decoder.feed(tokenizer.special.end_of_text) == ""
    assert decoder.feed(np.int64(ids[0])) != ""
    assert decoder.feed([]) == ""
