"""Frames of documents, and cuts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.corpus.batches.fim import cut, draw, sections
from engine.corpus.batches.framing import Framing
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.errors import TokenizerError
from tests.corpus.tokens import samples


def test_a_document_is_separator_path_newline_content_end():
    tokenizer = samples.trained()
    special = tokenizer.special
    ids = Framing(tokenizer).document("src/größe.py", tokenizer.encode("x = 1\n")).tolist()
    assert (ids[0], ids[-1]) == (special.file, special.end_of_text)
    assert tokenizer.decode(ids[1:-1]) == "src/größe.py\nx = 1\n"
    assert not tokenizer.special_ids.intersection(ids[1:-1])


def test_the_middle_goes_to_the_end_and_the_prompt_is_its_beginning():
    tokenizer = samples.trained()
    special = tokenizer.special
    prefix, middle, suffix = (tokenizer.encode(text) for text in ("def f(", "x):\n", "    return x\n"))
    framing = Framing(tokenizer)
    ids = framing.fill_in("a.py", prefix, middle, suffix)
    expected = [
        *framing.header("a.py"), special.fim_suffix, *suffix, special.fim_prefix, *prefix, special.fim_middle, *middle,
        special.end_of_text,
    ]  # fmt: skip
    assert ids.tolist() == expected
    prompt = framing.fill_in_prompt("a.py", prefix, suffix)
    assert ids[: len(prompt)].tolist() == prompt.tolist()
    assert ids.dtype == prompt.dtype == tokenizer.dtype


STYLES = {  # end of text, and what prefix, suffix and middle follow on
    "qwen": ("<|endoftext|>", "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"),
    "starcoder": ("<|endoftext|>", "<fim_prefix>", "<fim_suffix>", "<fim_middle>"),
    "granite": ("<|end_of_text|>", "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"),
    "falcon": ("<|end_of_text|>", "<|prefix|>", "<|suffix|>", "<|middle|>"),
    "deepseek": ("<｜end▁of▁sentence｜>", "<｜fim▁begin｜>", "<｜fim▁hole｜>", "<｜fim▁end｜>"),
}


@pytest.mark.parametrize("style", [*STYLES, "mellum"])
def test_each_tokenizer_has_its_own_names_and_order(tmp_path, style):
    names = STYLES.get(style, STYLES["starcoder"])
    tokenizer = Tokenizer.load(samples.write_style(tmp_path, list(names), splits_digits=style != "mellum"))
    assert tokenizer.has_fim and tokenizer.token(tokenizer.special.end_of_text) == names[0]
    prefix, middle, suffix = (tokenizer.encode(text) for text in ("def f(", "x):\n", "    return x\n"))
    framing = Framing(tokenizer)
    ids = framing.fill_in("", prefix, middle, suffix)[len(framing.header("")) :]
    shown = "".join(tokenizer.token(i) if i in tokenizer.special_ids else tokenizer.decode([i]) for i in ids.tolist())
    end, before, after, last = names
    first, second = f"{before}def f(", f"{after}    return x\n"
    assert shown == (second + first if style == "mellum" else first + second) + f"{last}x):\n{end}"
    prompt = framing.fill_in_prompt("", prefix, suffix)
    place = len(prompt) - framing.after_prefix(suffix)
    assert prompt[place - len(prefix) : place].tolist() == prefix.tolist()


def test_a_path_that_is_not_text():
    tokenizer = samples.trained()
    assert tokenizer.decode(Framing(tokenizer).header("a\udcff<|endoftext|>.py")) == "a\udcff<|endoftext|>.py\n"


def test_without_fim_tokens(tmp_path):
    tokenizer = Tokenizer.load(samples.write_neox_style(tmp_path))
    framing, none = Framing(tokenizer), np.empty(0, tokenizer.dtype)
    ids = framing.document("a.py", tokenizer.encode("x"))
    assert tokenizer.decode(ids) == "a.py\nx"
    assert ids[-1] == tokenizer.special.end_of_text
    with pytest.raises(TokenizerError, match="middle"):
        framing.fill_in_prompt("a.py", none, none)


@given(samples.every_text, st.integers(), st.integers(0, 99), samples.every_text)
@settings(deadline=None)
def test_the_parts_are_the_text(text, seed, epoch, path):
    drawn = draw(seed, epoch, path)
    assert drawn == draw(seed, epoch, path)
    assert "".join(cut(text, drawn.cuts)) == text


def test_cuts_are_even_and_differ_between_seeds_epochs_paths_and_sections():
    drawn = [
        draw(seed, epoch, path, n) for seed in range(8) for epoch in range(8) for path in "abcdefgh" for n in range(8)
    ]
    assert len({each.order for each in drawn}) == len(drawn)
    for values in ([each.fim for each in drawn], [c for each in drawn for c in each.cuts]):
        assert min(values) >= 0 and max(values) < 1
        assert abs(np.mean(values) - 0.5) < 0.02
        assert abs(np.mean(np.array(values) < 0.25) - 0.25) < 0.02
    lengths = {len(cut("ab", each.cuts)[0]) for each in drawn} | {len(cut("ab", each.cuts)[2]) for each in drawn}
    assert lengths == {0, 1, 2}


@given(samples.every_text, st.integers(0, 50))
@settings(deadline=None)
def test_the_sections_are_the_text(text, most):
    parts = sections(text, samples.trained().byte_lengths[samples.trained().encode(text)], most)
    assert "".join(parts) == text
    assert all(part.endswith("\n") for part in parts[:-1])
    assert len(parts) == 1 or all(parts)


def test_sections_are_of_about_one_length():
    text = "".join(f"line {number} of a file\n" for number in range(1000))
    even = np.full(6000, 4)
    parts = sections(text, even, 500)
    assert len(parts) == 12
    assert max(map(len, parts)) - min(map(len, parts)) <= 50
    assert sections(text, even, 0) == [text]
    assert sections(text, even[:500], 500) == [text]


def test_sections_follow_the_tokens_where_they_are_dense():
    tokenizer = samples.trained()
    text = "return self\n" * 400 + "1, 2, 3, 4, 5, 6, 7\n" * 200
    parts = sections(text, tokenizer.byte_lengths[tokenizer.encode(text)], 200)
    lengths = [len(tokenizer.encode(part)) for part in parts]
    assert max(lengths) < 240
    assert min(lengths) > 150
