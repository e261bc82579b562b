"""The mixture is the chain that its docstring writes out, and what is fitted is what is asked."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import ConfigError
from engine.memory.evidence import ORDERS, Counter, Evidence, Source
from engine.memory.fitting import (
    Observations,
    _free,
    _level,
    fit,
    losses,
    losses_and_slopes,
    observe,
    start,
)
from engine.memory.mixing import LEVELS, SURE, VARIETIES, Level, Mixing, add, certainty
from engine.memory.recall import Recall
from tests.memory.brute import segment_of

VOCABULARY, END = 40, 0
draw = np.random.default_rng


def level_of(seed: int) -> Level:
    random = draw(seed)
    shape = (len(ORDERS), VARIETIES)
    return Level(
        random.uniform(0.2, 30, shape), random.uniform(0.05, 0.9, shape), random.uniform(0.3, 3, len(SURE) + 1)
    )


def mixing_of(seed: int) -> Mixing:
    return Mixing({name: level_of(seed + number) for number, name in enumerate(LEVELS)})


def chain(p: np.ndarray, evidence: Evidence, level: Level, best: float) -> np.ndarray:
    """p (v,) with one source, in plain NumPy: the lowest order first."""
    sure = sum(best > limit for limit in SURE)
    for row in range(len(ORDERS)):
        counts = np.zeros(len(p))
        counts[evidence.tokens] = evidence.counts[row]
        n, u = counts.sum(), np.count_nonzero(counts)
        if n:
            theta = level.theta[row, min(u, 3) - 1] * level.caution[sure]
            d = level.discount[row, min(u, 3) - 1]
            p = (np.maximum(counts - d, 0) + (theta + d * u) * p) / (n + theta)
    return p


def model_scores(seed: int) -> np.ndarray:
    return (draw(seed).standard_normal(VOCABULARY) * draw(seed).uniform(0.5, 4)).astype(np.float32)


def softmax(scores: np.ndarray) -> np.ndarray:
    shares = np.exp(scores.astype(np.float64) - scores.max())
    return shares / shares.sum()


IDS = st.lists(st.integers(1, 5), max_size=60)


@settings(max_examples=60, deadline=None)
@given(IDS, IDS, IDS, st.integers(0, 99))
def test_recall_is_the_chain_over_repository_file_and_near(known, before, after, seed):
    counter, mixing = Counter(VOCABULARY, END), mixing_of(seed)
    sources = (Source(segment_of([known], VOCABULARY)),)
    before, after = np.array(before, np.int64), np.array(after, np.int64)
    scores, written = model_scores(seed), [3, 2]
    found = Recall(counter, mixing, sources, before, after).mixed(scores, written)
    p = softmax(scores)
    best = p.max()
    context = np.array([*before, *written][-24:], np.uint16)
    text = np.array([*before, 65535, *after], np.uint16)
    p = chain(p, counter.of_segments(sources, context), mixing.levels["repository"], best)
    p = chain(p, counter.of_text(text, len(before), context), mixing.levels["file"], best)
    p = chain(p, counter.of_text(text, len(before), context), mixing.levels["near"], best)
    np.testing.assert_allclose(found, p, rtol=1e-9, atol=1e-15)
    assert found.sum() == pytest.approx(1, abs=1e-12) and (found > 0).all()
    recall = Recall(counter, mixing, sources, before, after)
    alone = softmax(scores)
    chances = [recall.chance_of(y, alone[y], alone.max(), written) for y in range(VOCABULARY)]
    np.testing.assert_allclose(chances, found, rtol=1e-5)


def test_what_is_far_from_the_cursor_counts_in_the_file_but_not_once_more():
    counter, mixing = Counter(VOCABULARY, END), mixing_of(1)
    before = np.array([7, 9, *[1] * 500, 7])
    scores = model_scores(0)
    recall = Recall(counter, mixing, (), before, before[:0])
    p = softmax(scores)
    text = np.array([*before, 65535], np.uint16)
    wanted = chain(p, counter.of_text(text, len(before), text[-25:-1]), mixing.levels["file"], p.max())
    np.testing.assert_allclose(recall.mixed(scores, []), wanted, rtol=1e-9)
    assert wanted[9] > p[9]


def test_parts_can_be_left_out():
    counter, mixing = Counter(VOCABULARY, END), mixing_of(2)
    sources = (Source(segment_of([[7, 11]], VOCABULARY)),)
    before, after, scores = np.array([7, 9, 7]), np.array([7, 10]), model_scores(1)
    p = softmax(scores)

    def raised(recall: Recall) -> set[int]:
        return set(np.flatnonzero(recall.mixed(scores, []) > p).tolist())

    assert raised(Recall(counter, mixing, sources, before, after)) == {9, 10, 11}
    assert raised(Recall(counter, mixing, sources, before, after, frozenset({"repository"}))) == {9, 10}
    assert raised(Recall(counter, mixing, sources, before, after, frozenset({"after"}))) == {9, 11}
    assert raised(Recall(counter, mixing, sources, before, after, frozenset({"before"}))) == {10, 11}


def test_what_was_edited_lately_counts_as_much_as_the_open_file():
    """As if it stood far below the cursor: at the level of the file, and not near."""
    counter, mixing = Counter(VOCABULARY, END), mixing_of(2)
    before, nothing, scores = np.array([7]), np.array([], np.int64), model_scores(1)
    edited = Recall(counter, mixing, (), before, nothing, nearby=(np.array([7, 9]), np.array([3, 7, 10])))
    p = softmax(scores)
    text = np.array([7, 65535, 65535, 7, 9, 65535, 3, 7, 10], np.uint16)
    wanted = chain(p, counter.of_text(text, 1, text[:1]), mixing.levels["file"], p.max())
    np.testing.assert_allclose(edited.mixed(scores, []), wanted, rtol=1e-9)
    assert set(np.flatnonzero(wanted > p).tolist()) == {9, 10}


def test_nothing_seen_leaves_the_model_alone_and_more_caution_leaves_more_of_it():
    p = softmax(model_scores(0))
    counter = Counter(VOCABULARY, END)
    nothing = counter.of_text(np.array([65535], np.uint16), 0, np.array([], np.uint16))
    mixed = p.copy()
    assert add(mixed, nothing, level_of(0), 2) == 1.0 and (mixed == p).all()
    text = np.array([5, 6, 5, 65535], np.uint16)
    seen = counter.of_text(text, 3, text[:3])
    left = []
    for factor in (1.0, 4.0):
        level = mixing_of(0).more_cautious(factor).levels["file"]
        left.append(add(p.copy(), seen, level, certainty(p.max())))
    assert 0 < left[0] < left[1] < 1


def test_numbers_survive_json_and_wrong_ones_are_refused():
    mixing = mixing_of(3)
    again = Mixing.from_json(mixing.to_json())
    for name in LEVELS:
        for key, array in vars(mixing.levels[name]).items():
            np.testing.assert_allclose(getattr(again.levels[name], key), array, atol=1e-4)
    content = mixing.to_json()
    content["file"]["theta"] = content["file"]["theta"][:-1]
    with pytest.raises(ConfigError, match="other orders"):
        Mixing.from_json(content)


# ---- fitting


def text_of(seed: int, size: int = 160) -> np.ndarray:
    """Repeats itself a lot; 1 ends a line."""
    random = draw(seed)
    phrases = [random.integers(1, 12, random.integers(2, 9)) for _ in range(6)]
    return np.concatenate([phrases[random.integers(6)] for _ in range(size // 4)])[:size]


def observed_of(seed: int, see_after: bool = True):
    ids = text_of(seed)
    scores = np.stack([model_scores(1000 * seed + place) for place in range(len(ids))])
    shares = np.stack([softmax(row) for row in scores])
    chance, best = shares[np.arange(len(ids)), ids], shares.max(1)
    sources = (Source(segment_of([text_of(seed + 50).tolist(), text_of(seed).tolist()[:40]], VOCABULARY)),)
    line_ends = np.flatnonzero(ids == 1)
    counter = Counter(VOCABULARY, END)
    seen = observe(counter, sources, ids, line_ends, chance, best, np.ones(len(ids)), see_after=see_after)
    return seen, ids, scores, sources, line_ends


@pytest.mark.parametrize("see_after", [True, False])
def test_a_loss_is_that_of_the_recall_at_the_same_cursor(see_after):
    seen, ids, scores, sources, line_ends = observed_of(1, see_after)
    mixing, counter = mixing_of(5), Counter(VOCABULARY, END)
    found = losses(seen, mixing)
    assert len(found) == len(ids) - 1
    for place in range(1, len(ids)):
        later = [end for end in line_ends.tolist() if end >= place]
        resumed = max(place + 1, later[0]) if later else len(ids)
        after = ids[resumed:] if see_after else ids[:0]
        mixed = Recall(counter, mixing, sources, ids[:place], after).mixed(scores[place], [])
        assert found[place - 1] == pytest.approx(-np.log(mixed[ids[place]]), rel=1e-5)


def test_derivatives_agree_with_finite_differences():
    seen, *_ = observed_of(2)
    mixing = mixing_of(7)
    _, slopes = losses_and_slopes(seen, mixing)
    free = {name: _free(level) for name, level in mixing.levels.items()}
    step, largest = 1e-5, 0.0
    for name in LEVELS:
        for number, array in enumerate(free[name]):
            for place in np.ndindex(array.shape):
                values = []
                for sign in (1, -1):
                    array[place] += sign * step
                    moved = Mixing({other: _level(*arrays) for other, arrays in free.items()})
                    values.append(losses(seen, moved).mean())
                    array[place] -= sign * step
                by_difference = (values[0] - values[1]) / (2 * step)
                assert slopes[name][number][place] == pytest.approx(by_difference, rel=1e-3, abs=1e-8)
                largest = max(largest, abs(by_difference))
    assert largest > 1e-3, "nothing was tested"


def test_a_fit_lowers_the_loss_here_and_on_other_text():
    seen = Observations.join([observed_of(seed)[0] for seed in (3, 4, 5)])
    other = observed_of(6)[0]
    fitted = fit(seen, steps=60)
    assert losses(seen, fitted).mean() < losses(seen, start()).mean() - 0.05
    assert losses(other, fitted).mean() < losses(other, start()).mean()
    for level in fitted.levels.values():
        assert (level.theta > 0).all() and (level.caution > 0).all()
        assert ((level.discount > 0) & (level.discount < 1)).all()


def test_some_of_what_was_observed_and_levels_left_out():
    seen, *_ = observed_of(3)
    mixing = mixing_of(1)
    places = np.array([4, 9, 20])
    np.testing.assert_allclose(losses(seen.some(places), mixing), losses(seen, mixing)[places])
    alone = losses(seen, mixing, frozenset(LEVELS))
    np.testing.assert_allclose(alone, -np.log(seen.chance), rtol=1e-6)
    assert np.abs(losses(seen, mixing, frozenset({"near"})) - losses(seen, mixing)).max() > 1e-3
