"""What stands before the cursor: taken off the prompt, written again by the first tokens, never shown."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.corpus.tokens.tokenizer import Tokenizer
from engine.generate.completer import Completer, CompletionRequest
from engine.generate.healing import MOST, TypedTokens, half_word, without_typed
from engine.generate.options import Stops
from engine.generate.prompt import PromptBuilder
from tests.corpus.tokens import samples
from tests.generate.small import SOURCE, open_small, tokenizer


@pytest.mark.parametrize(
    ("prefix", "kept", "typed"),
    [
        ("x = ", "x =", " "),
        ("if x:\n\t\t", "if x:", "\n\t\t"),
        ("x", "", "x"),
        ("", "", ""),
        (" \n ", "", " \n "),
        ("return tot", "return", " tot"),
        ("a.b_1", "a.", "b_1"),
        ("f(x)[", "f(x", ")["),
        ("x +", "x", " +"),
        ("größe", "", "größe"),
        ("x" + " " * MOST, "x", " " * MOST),
        ("x" + " " * (MOST + 1), "x" + " " * (MOST + 1), ""),
        ("x." + "y" * 500, "x." + "y" * 500, ""),
        ("x\u00a0", "x", "\u00a0"),
    ],
)
def test_what_is_taken_off(prefix, kept, typed):
    assert without_typed(prefix) == (kept, typed)


@given(st.text("ab_1 \n\t.(", max_size=200))
def test_what_is_taken_off_is_an_end_of_one_kind(prefix):
    kept, typed = without_typed(prefix)
    assert kept + typed == prefix and len(typed) <= MOST
    assert len({character.isalnum() or character == "_" for character in typed.strip()}) <= 1
    assert not typed.strip() or typed[-1] == prefix.rstrip()[-1]


@pytest.mark.parametrize(
    ("prefix", "word"),
    [("a.pri", "pri"), ("pri ", ""), ("x1", "x1"), ("größ", "größ"), ("", ""), ("1e", ""), ("0xf", ""), ("(_a", "_a")],
)
def test_the_word_under_the_cursor(prefix, word):
    """A number is none, whatever letters it has."""
    assert half_word(prefix) == word


@given(st.one_of(st.text(" \nabdeftrinpce_():=", min_size=1, max_size=12), st.text(min_size=1, max_size=4)))
@settings(deadline=None)
def test_allowed_tokens_write_a_beginning_or_all_of_it_and_more(text):
    tokens, typed = tokenizer(), text.encode("utf-8", "surrogatepass")
    wanted = [
        number
        for number, data in enumerate(tokens.token_bytes)
        if data and (data.startswith(typed) or typed.startswith(data))
    ]
    assert TypedTokens(tokens).allowed(typed).tolist() == wanted and wanted


@pytest.mark.parametrize("end", ["", " ", "\n    ", "\n\n\t", "\n    pri", ".it", "("])
def test_the_model_reads_the_text_and_what_is_typed_whatever_it_would_rather_say(cpu, end):
    """With a random model: the tokens that follow the prompt begin with what is typed, and only that is hidden."""
    tokens, prefix = tokenizer(), "def f(x):\n    return x" + end
    with open_small(cpu) as model:
        completer = Completer(model, tokens)
        read = []
        completer._decoder.step = _noted(completer._decoder.step, read)
        completer._decoder.greedy = _noted(completer._decoder.greedy, read, place=1)
        completion = completer.complete(CompletionRequest(prefix, stops=Stops(max_tokens=6), memory=False))
        del completer._decoder.step, completer._decoder.greedy
        prompt = PromptBuilder(tokens).build(prefix)
        typed = prompt.typed
        assert (tokens.decode(prompt.ids) + typed.decode()).endswith(prefix) and typed
        written = tokens.decode_bytes(read)  # all but the last token
        assert written.startswith(typed)
        assert completion.text.startswith(written[len(typed) :].decode("utf-8", "replace").rstrip("\ufffd"))
        assert completion.tokens == 6
        completer.close()


def test_half_a_word_is_written_as_in_training(cpu):
    """`item` and `items` are tokens; a prompt that ends with `ite` must not keep the model from writing one of them."""
    tokens = tokenizer()
    (whole,) = tokens.encode("items").tolist()
    assert whole in TypedTokens(tokens).allowed(b"ite")
    with open_small(cpu) as model:
        completer = Completer(model, tokens)
        prefix = SOURCE[: SOURCE.index("items)", 200)] + "ite"
        text = completer.complete(CompletionRequest(prefix, stops=Stops(max_tokens=1))).text
        completer.close()
    assert text in ("m", "ms")


def _noted(function, read, place=0):
    def call(*arguments):
        read.append(int(np.asarray(arguments[place])))
        return function(*arguments)

    return call


# ---- a tokenizer that joins line ends and indentation, as SmolLM2's does


@pytest.fixture(scope="module")
def joining(tmp_path_factory):
    tokens = Tokenizer.load(samples.write_style(tmp_path_factory.mktemp("joining"), ["<|endoftext|>"]))
    assert b"\n   " in tokens.token_bytes and b" return" in tokens.token_bytes
    return tokens


def test_the_prompt_ends_before_the_line_end_that_a_token_joins_with_the_indentation(joining):
    """After the indentation it would end with tokens that never stand there: the last blank belongs to the word."""
    prompt = PromptBuilder(joining).build("def f(x):\n    ")
    assert prompt.typed == b"\n    " and joining.decode(prompt.ids) == "def f(x):"
    typed = TypedTokens(joining)
    newline, word = (joining.token_bytes.index(data) for data in (b"\n   ", b" return"))
    assert newline in typed.allowed(b"\n    ") and word in typed.allowed(b" ")


def test_the_tokens_of_the_whole_text_can_be_written_from_every_cursor(joining):
    """The prompt is the beginning of what the tokenizer makes of the whole line, and healing allows the rest of it."""
    typed = TypedTokens(joining)
    for place in range(1, len(SOURCE)):
        end = (SOURCE + "\n").index("\n", place)
        kept, missing = without_typed(SOURCE[:place])
        whole, prompt = (joining.encode(text).tolist() for text in (SOURCE[:end], kept))
        assert whole[: len(prompt)] == prompt, SOURCE[:place][-20:]
        rest = missing.encode()
        for token in whole[len(prompt) :]:
            if rest:
                assert token in typed.allowed(rest), (SOURCE[:place][-20:], joining.token(token))
            rest = rest[len(typed.bytes_of(token)) :]
        assert not rest
