"""Prompts: framed as in training, growing only at their end, and marked where their states are worth keeping."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.corpus.batches.framing import Framing
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.errors import ConfigError
from engine.generate.context import ContextChunk
from engine.generate.prompt import NO_FIM, PromptBuilder, PromptLimits, first_characters, last_characters
from tests.corpus.tokens.samples import write_style
from tests.generate.small import SOURCE, plain_tokenizer, tokenizer


def build(*arguments, tokens=None, limits=None, **named):
    return PromptBuilder(tokens or tokenizer(), limits).build(*arguments, **named)


def common(a: np.ndarray, b: np.ndarray) -> int:
    """How many tokens two prompts begin with in common."""
    length = min(len(a), len(b))
    return int(np.argmin(np.append(a[:length] == b[:length], False)))


def test_a_prompt_is_the_beginning_of_a_document_of_training():
    tokens = tokenizer()
    prompt = build(SOURCE[:200], path="shop/basket.py")
    document = Framing(tokens).document("shop/basket.py", tokens.encode(SOURCE[:200]))
    assert prompt.ids.tolist() == document[: len(prompt.ids)].tolist()
    assert tokens.decode(document[len(prompt.ids) : -1]).encode() == prompt.typed == b"\n"
    assert not prompt.fim_used and prompt.note == ""


def test_with_text_after_the_cursor_that_comes_first_as_in_training():
    tokens = tokenizer()
    prefix, middle, suffix = SOURCE[:138], SOURCE[138:160], SOURCE[160:]
    document = Framing(tokens).fill_in("a.py", *map(tokens.encode, (prefix, middle, suffix)))
    prompt = build(prefix + middle[:14], suffix, "a.py")
    assert prompt.typed == middle[:14].encode() == b"\n        total"
    assert prompt.fim_used and prompt.note == ""
    assert prompt.ids.tolist() == document[: len(prompt.ids)].tolist()
    assert prompt.ids[-1] == tokens.special.fim_middle
    unseen = build(prefix + middle[:14], suffix, "a.py", fill_in=False)
    assert unseen.ids.tolist() == build(prefix + middle[:14], path="a.py").ids.tolist() and not unseen.note


def test_a_model_that_knows_the_prefix_first_gets_it_first(tmp_path):
    names = ["<|endoftext|>", "<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>"]
    tokens = Tokenizer.load(write_style(tmp_path, names))
    prefix, suffix = "a = 1\nb = 2\nc", "\nd = 4\n"
    prompt = build(prefix, suffix, tokens=tokens)
    assert prompt.fim_used and prompt.ids[-1] == tokens.special.fim_middle
    place = prompt.ids.tolist().index(tokens.special.fim_prefix) + 1
    after = prompt.ids.tolist().index(tokens.special.fim_suffix)
    assert tokens.decode(prompt.ids[place:after]).encode() + prompt.typed == prefix.encode()
    assert tokens.decode(prompt.ids[after + 1 : -1]) == suffix
    lines = [mark for mark in prompt.marks if mark < len(prompt.ids)]
    assert lines and all(place <= mark <= after for mark in lines), "states are kept within the prefix"


def test_without_tokens_for_filling_in_the_prefix_is_all_and_it_is_said():
    tokens = plain_tokenizer()
    prompt = build("x = 1", "\ny = 2", "a.py", tokens=tokens)
    assert (prompt.fim_used, prompt.note) == (False, NO_FIM)
    assert (tokens.decode(prompt.ids), prompt.typed) == ("a.py\nx =", b" 1")
    assert build("x = 1", " \n\n", tokens=tokens).note == ""  # nothing after the cursor but blanks


@pytest.mark.parametrize("tokens", [tokenizer, plain_tokenizer])
def test_an_empty_prompt_begins_a_document(tokens):
    tokens = tokens()
    prompt = build("", tokens=tokens)
    first = tokens.special.end_of_text if tokens.special.file is None else tokens.special.file
    assert prompt.ids[0] == first and prompt.marks[-1] == len(prompt.ids) >= 1


def test_text_that_looks_like_a_special_token_is_text():
    prompt = build("<|endoftext|><|fim_middle|>", tokens=tokenizer())
    assert not set(prompt.ids[1:].tolist()) & tokenizer().special_ids


@pytest.mark.parametrize("suffix", ["", SOURCE[300:]])
def test_typing_keeps_everything_before_the_last_word(suffix):
    tokens = tokenizer()
    for end in range(120, 260):
        before, after = (build(SOURCE[:stop], suffix, "a.py") for stop in (end, end + 1))
        kept = [mark for mark in before.marks if mark <= common(before.ids, after.ids)]
        # Only the tokens of the last line, what was typed and the sign for the middle are left to read.
        assert len(after.ids) - max(kept) <= 12
        lines = tokens.decode(after.ids[max(kept) :]).split("\n")
        assert sum(bool(line.strip()) for line in lines) <= 1 + bool(suffix)


@pytest.mark.parametrize("suffix", ["", "\n\nprint(total)\n"])
def test_the_prompt_ends_before_the_last_word_and_has_a_mark_where_its_line_begins(suffix):
    prompt = build("def f(x):\n    return total", suffix, "a.py")
    assert prompt.typed == b" total" and prompt.fim_used == bool(suffix)
    assert tokenizer().decode(prompt.ids[prompt.marks[-2] :]) == "\n    return"


def test_marks_are_ascending_within_the_prompt_and_never_far_apart():
    text = (SOURCE * 4)[:-8]
    prompt = build(text, limits=PromptLimits(prefix_characters=1 << 20))
    assert list(prompt.marks) == sorted(set(prompt.marks)) and prompt.marks[-1] == len(prompt.ids)
    assert prompt.marks[0] > 0 and max(np.diff([0, *prompt.marks])) <= 256
    above = build(text[: text.rfind("\n")])
    assert len(above.ids) + len(tokenizer().encode(above.typed.decode())) in prompt.marks


def test_a_long_prefix_is_cut_at_a_line_and_the_cut_stays_while_somebody_types():
    text = "".join(f"line_{number} = {number}\n" for number in range(400))
    begins = {len(text[:end]) - len(last_characters(text[:end], 800)) for end in range(2000, 2200)}
    assert len(begins) <= 2 and all(text[begin - 1] == "\n" for begin in begins)
    assert 500 <= len(last_characters(text, 800)) <= 800
    assert last_characters("x" * 100, 40) == "x" * 40
    limits = PromptLimits(prefix_characters=800)
    first, second = (build(text[:end], path="a.py", limits=limits).ids for end in (2003, 2004))
    assert common(first, second) > len(first) - 6


def test_a_long_suffix_is_cut_behind_a_line():
    assert first_characters("ab\ncd\nef", 7) == "ab\ncd\n"
    assert first_characters("abcdefgh", 4) == "abcd" and first_characters("abc", 4) == "abc"


@given(st.text("ab\n", max_size=60), st.integers(16, 50))
def test_cuts_are_ends_and_beginnings_within_the_limit(text, limit):
    assert text.endswith(last_characters(text, limit)) and len(last_characters(text, limit)) <= limit
    assert text.startswith(first_characters(text, limit)) and len(first_characters(text, limit)) <= limit
    assert bool(last_characters(text, limit)) == bool(text)


def test_context_stands_in_front_as_documents():
    tokens = tokenizer()
    chunk = ContextChunk("other.py", "x = 1\n")
    document = Framing(tokens).document("other.py", tokens.encode("x = 1\n"))
    prompt = build("y", path="a.py", context=(chunk,))
    assert prompt.ids.tolist() == [*document.tolist(), *build("y", path="a.py").ids.tolist()]
    limits = PromptLimits(context_characters=8)
    few = build("y", path="a.py", context=(ContextChunk("b.py", "z = 2\n"), chunk), limits=limits)
    assert few.ids.tolist() == prompt.ids.tolist()  # the last one is the most similar


def test_lone_surrogates_and_broken_characters_are_no_obstacle():
    prompt = build("\udcff x 👩‍💻", "\ud800 y", "odd\udcff.py")
    assert len(prompt.ids) > 5 and prompt.fim_used


def test_limits_are_refused_by_name():
    with pytest.raises(ConfigError, match="suffix_characters is -1"):
        PromptLimits(suffix_characters=-1)
