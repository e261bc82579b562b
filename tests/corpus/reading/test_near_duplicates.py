"""MinHash against exact Jaccard similarity, and which of nearly equal texts stays."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.corpus.reading.near_duplicates import SIGNATURE_BYTES, near_duplicates, signature, similarity

WORDS = [f"name{i}" for i in range(2000)] + ["(", ")", "=", ".", "return", "self"]


def text_of(seed: int, count: int) -> list[str]:
    source = random.Random(seed)
    return [source.choice(WORDS) for _ in range(count)]


def changed(words: list[str], share: float, seed: int) -> list[str]:
    source = random.Random(seed)
    return [source.choice(WORDS) if source.random() < share else word for word in words]


def jaccard(a: str, b: str) -> float:
    def shingles(text):
        tokens = re.findall(r"\w+|\S", text)
        return {tuple(tokens[i : i + 5]) for i in range(len(tokens) - 4)}

    one, other = shingles(a), shingles(b)
    return len(one & other) / len(one | other)


@pytest.mark.parametrize("count", [60, 300, 3000])
def test_the_estimate_is_unbiased_and_close(count):
    errors = []
    for seed in range(120):
        words = text_of(seed, count)
        a, b = " ".join(words), " ".join(changed(words, 0.03, seed + 1))
        errors.append(similarity(signature(a), signature(b)) - jaccard(a, b))
    assert abs(np.mean(errors)) < 0.01
    assert np.std(errors) < 0.04


def test_white_space_does_not_count():
    words = text_of(1, 200)
    assert signature(" ".join(words)) == signature("\n\t  ".join(words)) == signature("\r\n".join(words).encode())


def test_unlike_texts_are_unlike():
    assert similarity(signature(" ".join(text_of(1, 800))), signature(" ".join(text_of(2, 800)))) < 0.05


def test_short_texts_are_not_judged():
    assert signature("") == b"" and signature("from . import x\n") == b""
    assert len(signature("a b " * 40)) == SIGNATURE_BYTES
    assert near_duplicates([b"", b"", signature("from . import x")]).of == {}


def test_the_first_stays_and_the_most_like_is_named():
    base = text_of(1, 1000)
    other = text_of(2, 1000)
    texts = [base, other, changed(base, 0.01, 3), changed(other, 0.005, 4), text_of(5, 1000), changed(base, 0.002, 6)]
    found = near_duplicates([signature(" ".join(words)) for words in texts])
    assert {i: j for i, (j, _) in found.of.items()} == {2: 0, 3: 1, 5: 0}
    assert found.groups == ((0, 2, 5), (1, 3))
    assert all(0.85 <= likeness <= 1 for _, likeness in found.of.values())


def test_a_chain_of_small_changes_does_not_make_its_ends_the_same():
    texts = [text_of(1, 1000)]
    for step in range(12):
        texts.append(changed(texts[-1], 0.01, step))
    found = near_duplicates([signature(" ".join(words)) for words in texts])
    for i, (j, likeness) in found.of.items():
        assert j not in found.of
        assert jaccard(" ".join(texts[i]), " ".join(texts[j])) == pytest.approx(likeness, abs=0.08)
    assert len(found.of) < len(texts) - 1


def test_nothing_above_the_threshold_is_missed():
    """Banding may pass over a pair; at the threshold that is one in 25,000."""
    texts = [changed(text_of(i // 4, 400), 0.01, i) for i in range(400)]
    signatures = [signature(" ".join(words)) for words in texts]
    found = near_duplicates(signatures)
    kept = [i for i in range(400) if i not in found.of]
    for i in range(400):
        best = max((similarity(signatures[i], signatures[j]) for j in kept if j < i), default=0)
        assert (i in found.of) == (best >= 0.85)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), max_size=12))
@settings(max_examples=30, deadline=None)
def test_the_same_answer_every_time(kinds):
    signatures = [signature(" ".join(changed(text_of(base, 150), 0.01 * step, step))) for base, step in kinds]
    assert near_duplicates(signatures) == near_duplicates(list(signatures))


@given(st.text())
@settings(max_examples=50, deadline=None)
def test_no_text_is_too_odd(text):
    assert len(signature(text * 50)) in (0, SIGNATURE_BYTES)


def test_signatures_do_not_change_between_versions():
    """They are kept on disk: another number here needs another RULES_VERSION."""
    found = np.frombuffer(signature(" ".join(f"word{i}" for i in range(500))), "<u2")
    assert int(found.astype(np.int64).sum()) == 8471984
