"""The trial of fill-in-the-middle: the completer's prompts for held-out lines, with and without what follows."""

from __future__ import annotations

import numpy as np
import pytest

from engine.corpus.repository import Repository
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.generate.healing import without_typed
from engine.generate.prompt import PromptBuilder
from engine.session.batches import HELD_OUT_BATCH
from engine.session.fim_trial import CASES, FEWEST, FimTrial, FimVerdict, _case, _lines
from tests.corpus.tokens import samples
from tests.corpus.tokens.test_taught_fim import SMOLLM

LENGTH = 160


class Guesser:
    """In place of a model: loses `known` for a token of the middle that it was shown the end of, `unknown` otherwise.

    A token of a middle is one after the sign for it; for prompts without that sign, everything counts as unknown.
    """

    def __init__(self, middle: int, known: float, unknown: float) -> None:
        self.middle, self.known, self.unknown = middle, known, unknown
        self.rows: list[np.ndarray] = []

    def losses(self, tokens, counted):
        assert tokens.shape == (HELD_OUT_BATCH, LENGTH + 1)
        self.rows += [row[: count + 1] for row, count in zip(tokens, counted, strict=True) if count]
        seen = np.cumsum(tokens == self.middle, axis=1)[:, :-1] > 0
        losses = np.where(seen, self.known, self.unknown).astype(np.float32)
        return np.where(np.arange(LENGTH) < counted[:, None], losses, 0.0)


@pytest.fixture
def corpus(repository, data_folder, tmp_path):
    data_folder.mkdir(exist_ok=True)
    tokenizer = Tokenizer.load(samples.write_style(tmp_path, SMOLLM))
    scanned = Repository(repository, data_folder, tokenizer).scan()
    return scanned.with_tokenizer(tokenizer.with_taught_fim())


def tried(corpus, known=1.0, unknown=2.0, documents=None):
    guesser = Guesser(corpus.tokenizer.special.fim_middle, known, unknown)
    trial = FimTrial(guesser, corpus, documents or corpus.validation_code, LENGTH)
    while not trial.finished:
        trial.advance()
    return trial, guesser


def test_only_the_rest_of_the_line_counts_and_both_prompts_are_measured(corpus):
    trial, guesser = tried(corpus, known=1.0, unknown=3.5)
    verdict = trial.verdict()
    assert verdict.cases == CASES and len(guesser.rows) == 2 * CASES
    assert (verdict.with_suffix, verdict.without) == (1.0, 3.5) and verdict.helps
    assert verdict.error == pytest.approx(0.0, abs=1e-9)  # the same difference for every token


def test_a_case_is_a_place_in_a_held_out_file(corpus):
    _, guesser = tried(corpus)
    tokenizer, (prefix, suffix, middle) = corpus.tokenizer, corpus.tokenizer.special.fim
    texts = [tokenizer.decode(corpus.document_tokens(document)) for document in corpus.validation_code]
    in_line = 0
    for without, with_suffix in zip(guesser.rows[::2], guesser.rows[1::2], strict=True):
        marks = [with_suffix.tolist().index(mark) for mark in (suffix, prefix, middle)]
        after, before, answer = (tokenizer.decode(part) for part in np.split(with_suffix, marks)[1:])
        header = tokenizer.decode(with_suffix[: marks[0]])
        assert tokenizer.decode(without) == header + before + answer
        assert any(before + answer + after in text for text in texts)
        assert after.startswith("\n") and answer.strip() and after.strip()
        in_line += not answer.startswith("\n")
    assert 0.2 * CASES < in_line < 0.8 * CASES  # some cursors are at the beginning of a line, some within one


def test_tokens_that_only_repeat_what_is_typed_do_not_count(corpus):
    """The first one that counts is the first that goes beyond the cursor."""
    tokenizer, prompts = corpus.tokenizer, PromptBuilder(corpus.tokenizer)
    text = tokenizer.decode(corpus.document_tokens(corpus.validation_code[0]))
    begin, end = _lines(text)[3]
    skipped = set()
    for place in range(begin, end):
        case = _case(prompts, tokenizer, "a.py", text, place, end)
        _, typed = without_typed(text[:place])
        assert typed.startswith(tokenizer.decode(case.answer[: case.typed]))
        assert len(tokenizer.decode(case.answer[: case.typed + 1])) > len(typed)
        assert tokenizer.decode(case.answer) == typed + text[place:end]
        skipped.add(case.typed)
    assert len(skipped) > 1


def test_the_same_cases_every_time(corpus):
    first, second = (tried(corpus)[1].rows for _ in range(2))
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


def test_a_case_is_not_used_twice_and_too_few_decide_nothing(corpus):
    few = FimVerdict(FEWEST - 1, 2.0, 1.0, 0.0)
    assert not few.helps and "cannot be judged" in few.words
    _, guesser = tried(corpus, documents=corpus.validation_code[:1])
    texts = [row.tobytes() for row in guesser.rows]
    assert len(set(texts)) == len(texts)
    empty = FimTrial(guesser, corpus, [], LENGTH)
    assert empty.finished and not empty.verdict().helps and empty.verdict().facts == {"lines": 0}


@pytest.mark.parametrize(
    ("with_suffix", "error", "helps"), [(1.8, 0.1, True), (1.8, 0.3, False), (2.2, 0.1, False), (2.0, 0.0, False)]
)
def test_it_helps_if_it_is_better_by_more_than_the_error(with_suffix, error, helps):
    verdict = FimVerdict(FEWEST, 2.0, with_suffix, error)
    assert verdict.helps == helps
    assert f"{with_suffix:.3f} with" in verdict.words and "2.000 without" in verdict.words


def test_the_error_is_that_of_the_ratio(corpus):
    trial, _ = tried(corpus)
    trial._measured = [(4.0, 3.0, 2), (6.0, 6.0, 2), (1.0, 0.5, 1), (9.0, 7.0, 5)]
    verdict = trial.verdict()
    assert (verdict.without, verdict.with_suffix) == (2.0, 1.65)
    spread = np.array([-1.0, 0.0, -0.5, -2.0]) + 0.35 * np.array([2, 2, 1, 5])
    assert verdict.error == pytest.approx(np.sqrt(np.sum(spread**2) / 3 / 4) / 2.5)
