"""The choice of a token: exact probabilities, the order of the filters, ties, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

from engine.errors import ConfigError
from engine.generate.options import Sampling
from engine.generate.sampling import Candidates, choose, distribution, draw, largest, penalised, uniform

SCORES = np.array([1.0, 3.0, -1.0, 3.0, 0.5, 2.0, -4.0, 2.5], np.float32)
DRAWS = 6000
CRITICAL = {1: 10.83, 2: 13.82, 3: 16.27, 4: 18.47, 5: 20.52, 6: 22.46, 7: 24.32}  # chi-square, 1 in 1,000


def softmax(scores: np.ndarray) -> np.ndarray:
    shares = np.exp(np.asarray(scores, np.float64) - np.max(scores))
    return shares / shares.sum()


def exact(scores: np.ndarray, sampling: Sampling) -> dict[int, float]:
    """The distribution by the definition: tokens sorted by probability and id, filters one after the other."""
    shares = softmax(scores / sampling.temperature)
    order = sorted(range(len(scores)), key=lambda token: (-shares[token], token))
    if sampling.top_k:
        order = order[: sampling.top_k]
    total = sum(shares[token] for token in order)
    kept, sum_so_far = [], 0.0
    for token in order:
        if sum_so_far >= sampling.top_p * total and kept:
            break
        kept.append(token)
        sum_so_far += shares[token]
    kept = [token for token in kept if shares[token] >= sampling.min_p * shares[kept[0]]]
    total = sum(shares[token] for token in kept)
    return {token: shares[token] / total for token in kept}


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(temperature=1.0),
        Sampling(temperature=0.7),
        Sampling(temperature=2.0),
        Sampling(temperature=1.0, top_k=3),
        Sampling(temperature=1.5, top_p=0.8),
        Sampling(temperature=1.5, min_p=0.3),
        Sampling(temperature=1.3, top_k=6, top_p=0.9, min_p=0.1),
    ],
)
def test_tokens_come_as_often_as_their_probability_says(sampling):
    expected = exact(SCORES, sampling)
    places, shares = distribution(SCORES, sampling)
    assert dict(zip(places.tolist(), shares, strict=True)) == pytest.approx(expected)
    found = np.array([places[draw(shares, uniform(seed, 0))] for seed in range(DRAWS)])
    counts = np.bincount(found, minlength=len(SCORES))
    assert set(np.flatnonzero(counts)) <= set(expected)
    wanted = DRAWS * np.array([expected[token] for token in expected])
    statistic = float(((counts[list(expected)] - wanted) ** 2 / wanted).sum())
    assert statistic < CRITICAL[len(expected) - 1]


def test_one_request_draws_evenly_from_token_to_token():
    chances = np.array([uniform(7, number) for number in range(DRAWS)])
    counts = np.histogram(chances, bins=8, range=(0, 1))[0]
    assert ((counts - DRAWS / 8) ** 2 / (DRAWS / 8)).sum() < CRITICAL[7]
    assert abs(np.corrcoef(chances[:-1], chances[1:])[0, 1]) < 0.05
    assert uniform(7, 3) == chances[3] != uniform(8, 3)


def test_greedy_takes_the_best_and_of_equals_the_lowest_id():
    assert choose(Candidates(SCORES), Sampling(), [], 0) == 1
    assert choose(Candidates(np.zeros(5, np.float32)), Sampling(), [], 0) == 0


def test_ties_at_the_border_of_a_filter_go_to_the_lowest_id():
    flat = np.array([1.0, 2.0, 1.0, 1.0, 2.0])
    assert largest(flat, 3).tolist() == [0, 1, 4]
    assert distribution(flat, Sampling(temperature=1.0, top_k=3))[0].tolist() == [0, 1, 4]
    assert distribution(np.zeros(4), Sampling(temperature=1.0, top_p=0.5))[0].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("sampling", "left"),
    [
        (Sampling(temperature=1.0, top_k=1), 1),
        (Sampling(temperature=1.0, top_p=0.0), 1),
        (Sampling(temperature=1.0, min_p=1.0), 2),
        (Sampling(temperature=1.0, top_k=100), 8),
        (Sampling(temperature=5.0, top_p=1.0), 8),
    ],
)
def test_filters_at_their_ends(sampling, left):
    assert len(distribution(SCORES, sampling)[0]) == left


def test_what_has_no_probability_is_never_drawn():
    shares = np.array([0.0, 0.5, 0.0, 0.5, 0.0])
    assert [draw(shares, chance) for chance in (0.0, 0.49, 0.5, 1 - 1e-12)] == [1, 1, 3, 3]


def test_top_p_sees_what_top_k_left():
    # Of all tokens, the best two have 0.57 together; of the best three, 0.76. Only top-k first leaves both.
    scores = np.log(np.array([0.3, 0.27, 0.18, 0.15, 0.1]))
    assert len(distribution(scores, Sampling(temperature=1.0, top_p=0.7))[0]) == 3
    assert len(distribution(scores, Sampling(temperature=1.0, top_k=3, top_p=0.7))[0]) == 2


def test_a_penalty_lowers_scores_on_both_sides_of_zero_and_each_token_once():
    scores = np.array([2.0, -2.0, 1.0, 0.0], np.float32)
    lowered = penalised(scores, None, [0, 0, 1], 2.0)
    assert lowered.tolist() == [1.0, -4.0, 1.0, 0.0] and scores.tolist() == [2.0, -2.0, 1.0, 0.0]


def test_a_penalty_looks_back_as_far_as_its_window():
    scores = Candidates(np.array([2.0, 1.9], np.float32))
    near, far = [1, 0, 1], [0, 1, 1]
    sampling = Sampling(repetition_penalty=2.0, repetition_window=2)
    assert choose(scores, sampling, near, 0) == 0  # both lowered
    assert choose(scores, sampling, far, 0) == 0
    assert choose(scores, Sampling(repetition_penalty=2.0, repetition_window=1), [1, 0], 0) == 1


def test_the_penalty_comes_before_the_filters():
    scores = Candidates(np.array([3.0, 2.0, -9.0], np.float32))
    sampling = Sampling(temperature=1.0, top_k=1, repetition_penalty=2.0)
    assert {choose(scores, Sampling(**vars(sampling) | {"seed": seed}), [0], 0) for seed in range(20)} == {1}


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(repetition_penalty=1.7, repetition_window=5),
        Sampling(temperature=0.8, top_k=4),
        Sampling(temperature=0.8, top_k=4, top_p=0.9, min_p=0.05, repetition_penalty=1.7, repetition_window=5),
    ],
)
def test_the_best_candidates_suffice(sampling):
    random = np.random.default_rng(3)
    for number in range(200):
        scores = random.normal(0, 2, 60).astype(np.float32)
        recent = random.integers(0, 60, 9).tolist()
        best = np.argsort(-scores, kind="stable")[: sampling.candidates(recent)]
        few = choose(Candidates.best(best, scores[best]), sampling, recent, number)
        assert few == choose(Candidates(scores), sampling, recent, number)


def test_what_takes_all_scores_says_so():
    assert Sampling(temperature=1.0).candidates([1]) == Sampling(temperature=1.0, top_p=0.5).candidates([1]) == 0
    assert Sampling().candidates([1, 2]) == 1
    assert Sampling(repetition_penalty=2.0, repetition_window=3).candidates([5, 1, 2, 2]) == 3
    assert Sampling().greedy and not Sampling(repetition_penalty=1.1).greedy and not Sampling(temperature=1.0).greedy


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("temperature", -0.1),
        ("temperature", float("nan")),
        ("top_k", -1),
        ("top_k", 2.5),
        ("top_p", 1.01),
        ("min_p", -1),
        ("repetition_penalty", 0.9),
        ("repetition_window", -1),
        ("seed", -1),
        ("seed", True),
        ("temperature", "hot"),
    ],
)
def test_values_out_of_range_are_refused_by_name(name, value):
    with pytest.raises(ConfigError, match=f"{name} is {value!r}"):
        Sampling(**{name: value})
