"""Guesses: the longest run, the latest place, and a text that they never change."""

from __future__ import annotations

import numpy as np
import pytest

from engine.generate.completer import Completer, CompletionRequest
from engine.generate.sampling import Sampling
from engine.generate.speculation import MOST_TOKENS, Speculator, TokenRuns
from engine.generate.stops import Stops
from tests.generate.small import SOURCE, open_small, tokenizer


def test_what_followed_the_longest_run_is_the_guess():
    #                       run of 3, run of 5, the end
    text = [1, 2, 3, 70, 9, 8, 1, 2, 3, 71, 72, 9, 8, 1, 2, 3, 50, 7, 1, 2, 3, 60, 9, 8, 1, 2, 3]
    assert Speculator(text).guess() == [50, 7]
    assert Speculator([0, 1, 2, 3, 70, 1, 2, 3, 71, 4, 1, 2, 3]).guess(1) == [71]  # of equals the latest


@pytest.mark.parametrize("text", [[], [1, 2], [1, 2, 3], [1, 2, 3, 4, 5, 6], [1, 2, 9, 1, 2]])
def test_where_nothing_comes_again_there_is_no_guess(text):
    assert Speculator(text).guess() == []


def test_a_text_that_grows_is_as_one_that_was_there():
    text = np.random.default_rng(0).integers(0, 4, 600)
    for first in (0, 2, 300):
        grown = Speculator(text[:first])
        for place in range(first, 600, 7):
            grown.extend(text[place : place + 7])
            assert grown.guess() == Speculator(text[: place + 7]).guess()


def test_a_run_that_repeats_itself_goes_on():
    assert Speculator([5, 6] * 4).guess() == [5, 6]
    assert Speculator([5] * 8).guess() == [5]


def test_the_repository_is_asked_where_it_knows_more():
    runs = TokenRuns(np.array([0, 4, 1, 2, 3, 80, 81, 1, 2, 3, 82], np.uint16))
    text = [1, 2, 3, 70, 4, 1, 2, 3]
    assert Speculator(text, runs).guess() == [80, 81]
    assert Speculator(text[:4] + text[5:], runs).guess(1) == [70]  # as long a run in the text itself is nearer
    assert Speculator([2, 3, 82, 0, 4], runs).guess() == Speculator([9], TokenRuns(np.zeros(0, np.int32))).guess() == []


def test_a_guess_is_half_as_long_as_its_run():
    again = list(range(10, 40))
    for run, length in ((3, 1), (4, 2), (9, 4), (14, 7), (30, MOST_TOKENS)):
        assert Speculator([*again, 50, 51, 52, 53, 54, 55, 56, 57, 1, *again[-run:]]).guess() == list(
            range(50, 50 + length)
        )


@pytest.mark.parametrize("seed", range(4))
def test_the_text_is_the_one_without_guesses(cpu, seed):
    with open_small(cpu, seed=seed) as model:
        completer = Completer(model, tokenizer())
        request = CompletionRequest(SOURCE[:80], stops=Stops(max_tokens=80))
        plain = completer.complete(request)
        completer.use_repository(tokenizer().encode(plain.text * 2))  # as if it had been written before
        guessed = completer.complete(CompletionRequest(SOURCE[:80], stops=Stops(max_tokens=80), speculate=True))
        assert guessed.text == plain.text and guessed.tokens == plain.tokens
        assert 0 < guessed.speculation.accepted <= guessed.speculation.proposed and plain.speculation.proposed == 0
        drawn = CompletionRequest(SOURCE[:80], sampling=Sampling(temperature=1.0), stops=Stops(max_tokens=5))
        assert completer.complete(CompletionRequest(**vars(drawn) | {"speculate": True})).speculation.proposed == 0
        completer.close()


def test_guesses_stay_within_the_limit_and_the_decoder_where_it_should_be(cpu):
    with open_small(cpu) as model:
        completer = Completer(model, tokenizer())
        text = completer.complete(CompletionRequest(SOURCE[:80], stops=Stops(max_tokens=40))).text
        completer.use_repository(tokenizer().encode(text))
        for most in (1, 2, 3, 7, 11):
            request = CompletionRequest(SOURCE[:80], stops=Stops(max_tokens=most), speculate=True)
            found = completer.complete(request)
            assert found.tokens == most and text.startswith(found.text.rstrip("\ufffd"))
        completer.close()
