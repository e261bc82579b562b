"""The blanks before the cursor: taken off the prompt, written again by the first tokens, never shown."""

from __future__ import annotations

import numpy as np
import pytest

from engine.generate.blanks import MOST, BlankTokens, without_blanks
from engine.generate.completer import Completer, CompletionRequest
from engine.generate.prompt import PromptBuilder
from engine.generate.stops import Stops
from tests.generate.small import open_small, tokenizer


@pytest.mark.parametrize(
    ("prefix", "kept", "blanks"),
    [
        ("x = ", "x =", " "),
        ("if x:\n\t\t", "if x:", "\n\t\t"),
        ("x", "x", ""),
        ("", "", ""),
        (" \n ", " \n ", ""),
        ("x" + " " * (MOST + 1), "x" + " " * (MOST + 1), ""),
        ("x\u00a0", "x\u00a0", ""),
    ],
)
def test_what_is_taken_off(prefix, kept, blanks):
    assert without_blanks(prefix) == (kept, blanks)


def test_allowed_tokens_write_a_beginning_or_all_of_the_blanks():
    tokens = tokenizer()
    blanks = BlankTokens(tokens)
    for rest in (b" ", b"\n    ", b"\n\n", b"\t "):
        allowed = set(blanks.allowed(rest).tolist())
        for number, data in enumerate(tokens.token_bytes):
            assert (number in allowed) == (bool(data) and (data.startswith(rest) or rest.startswith(data)))
            if number in allowed:
                assert blanks.left_after(rest, number) == rest[len(data) :]


@pytest.mark.parametrize("end", ["", " ", "\n    ", "\n\n\t"])
def test_the_model_reads_the_text_and_the_blanks_whatever_it_would_rather_say(cpu, end):
    """With a random model: the tokens that follow the prompt begin with the blanks, and only they are hidden."""
    tokens, prefix = tokenizer(), "def f(x):\n    return x" + end
    with open_small(cpu) as model:
        completer = Completer(model, tokens)
        read = []
        completer._decoder.step = _noted(completer._decoder.step, read)
        completer._decoder.greedy = _noted(completer._decoder.greedy, read, place=1)
        completion = completer.complete(CompletionRequest(prefix, stops=Stops(max_tokens=6)))
        del completer._decoder.step, completer._decoder.greedy
        prompt = PromptBuilder(tokens).build(prefix)
        assert prompt.blanks == end.encode() and tokens.decode(prompt.ids).endswith("return x")
        written = tokens.decode_bytes(read)  # all but the last token
        assert written.startswith(end.encode()[: len(written)])
        assert completion.text.startswith(written[len(end) :].decode("utf-8", "replace").rstrip("\ufffd"))
        assert completion.tokens == 6
        completer.close()


def _noted(function, read, place=0):
    def call(*arguments):
        read.append(int(np.asarray(arguments[place])))
        return function(*arguments)

    return call
