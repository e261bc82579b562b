"""Every text comes back as it was, through every kind of tokenizer."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from engine.corpus.tokens.tokenizer import Tokenizer

from . import samples

KINDS = ["trained", "gpt2", "neox", "qwen"]
HARD = {
    "empty": "",
    "nul": "a\0b\0\0",
    "line ends": "a\r\nb\rc\n\r\n\n\r",
    "tabs": "\t\tx\t \t\n\t",
    "spaces": " " * 100_000,
    "one long word": "x9" * 40_000,
    "lone surrogates": "\ud800 a\udfff\udc80b\ud83d\ude00",
    "not composed": "e\u0301 \u212b ﬁ ①",
    "emoji": "👩‍👩‍👧‍👦🏳️‍🌈👍🏽",
    "special": "<|endoftext|><|file|> <|fim_prefix|>x<|fim_suffix|>y<|fim_middle|><|pad|><|padding|><|file_sep|>",
    "byte order mark": "\ufeffimport os",
    "non-characters": "\ufffe\uffff\U0010ffff\ufffd\x7f\x80\x9f\xa0\xad\u2028",
}


@pytest.fixture(scope="module", params=KINDS)
def tokenizer(request, tmp_path_factory) -> Tokenizer:
    if request.param == "trained":
        return samples.trained()
    write = {"gpt2": samples.write_gpt2_style, "neox": samples.write_neox_style, "qwen": samples.write_qwen_style}
    return Tokenizer.load(write[request.param](tmp_path_factory.mktemp(request.param)))


@given(samples.every_text)
@settings(max_examples=250, deadline=None)
def test_every_text_comes_back(tokenizer, text):
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert not tokenizer.special_ids.intersection(ids.tolist())


@pytest.mark.parametrize("text", HARD.values(), ids=HARD.keys())
def test_hard_texts_come_back(tokenizer, text):
    ids = tokenizer.encode(text)
    assert ids.dtype == tokenizer.dtype
    assert tokenizer.decode(ids) == text
    assert not tokenizer.special_ids.intersection(ids.tolist())


def test_a_batch_is_each_text_by_itself(tokenizer):
    texts = [*samples.source_texts(), *HARD.values(), ""]
    together = tokenizer.encode_batch(texts)
    assert [ids.tolist() for ids in together] == [tokenizer.encode(text).tolist() for text in texts]
    assert [tokenizer.decode(ids) for ids in together] == texts
    assert tokenizer.encode_batch([]) == []


def test_byte_lengths_add_up(tokenizer):
    text = samples.source_texts()[0] + HARD["emoji"]
    assert tokenizer.byte_lengths[tokenizer.encode(text)].sum() == len(text.encode())


def test_bytes_that_are_no_character_become_the_replacement():
    tokenizer = samples.trained()
    broken = [*tokenizer.encode("é")[:1], *tokenizer.encode("x")]
    euro = "€".encode()
    half = [tokenizer.encode(chr(0)).tolist()[0]]
    assert tokenizer.decode(half) == "\0"
    by_byte = {tokenizer.decode_bytes([number]): number for number in range(tokenizer.vocab_size)}
    assert tokenizer.decode([by_byte[euro[:1]], by_byte[b"x"]]) == "\ufffdx"
    assert tokenizer.decode([by_byte[b"\xed"], by_byte[b"\xa0"]]) == "\ufffd\ufffd"
    assert tokenizer.decode([by_byte[bytes([byte])] for byte in b"\xed\xa0\x80"]) == "\ud800"
    assert tokenizer.decode([by_byte[bytes([byte])] for byte in b"\xed\xa0\x80"], surrogates=False) == "\ufffd" * 3
    assert tokenizer.decode(broken) in ("éx", "\ufffdx")


def test_special_tokens_and_ids_of_a_larger_model_stand_for_no_text():
    tokenizer = samples.trained()
    ids = tokenizer.encode("x").tolist()
    assert tokenizer.decode([tokenizer.special.end_of_text, *ids, tokenizer.vocab_size + 5]) == "x"
