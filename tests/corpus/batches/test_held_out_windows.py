"""Held-out windows: fixed, whole, and each token counted once."""

from __future__ import annotations

import numpy as np
import pytest

from engine.corpus.batches.framing import Framing
from engine.corpus.batches.windows import HeldOutWindows
from tests.corpus.tokens import samples


@pytest.fixture(scope="module")
def corpus() -> samples.TextSource:
    return samples.source_corpus()


def stream(corpus: samples.TextSource) -> np.ndarray:
    framing = Framing(corpus.tokenizer)
    return np.concatenate(
        [framing.document(each.path, corpus.document_tokens(each)) for each in corpus.held_out_documents]
    )


@pytest.mark.parametrize(("seq_len", "batch"), [(64, 4), (1, 3), (511, 1), (100_000, 2)])
def test_every_token_is_a_target_once_in_order(corpus, seq_len, batch):
    windows = HeldOutWindows(corpus, seq_len, batch)
    found = list(windows)
    assert len(found) == len(windows)
    assert all(each.tokens.shape == (batch, seq_len + 1) for each in found)
    targets = np.concatenate([each.targets.reshape(-1) for each in found])
    assert np.array_equal(targets[targets >= 0], stream(corpus)[1:])
    assert sum(int(each.counted.sum()) for each in found) == len(stream(corpus)) - 1
    assert all(int(each.tokens.min()) >= 0 for each in found)


def test_the_same_every_time_and_never_rearranged(corpus):
    windows = HeldOutWindows(corpus, 64, 4)
    first, second = list(windows), list(windows)
    assert all(np.array_equal(a.tokens, b.tokens) for a, b in zip(first, second, strict=True))
    assert not any((each.tokens == corpus.tokenizer.special.fim_middle).any() for each in first)
    starts = [start for each in first for row in each.starts for start in row]
    assert len(starts) >= len(corpus.held_out_documents)


def test_a_limit_takes_windows_from_everywhere(corpus):
    every = np.concatenate([each.tokens for each in HeldOutWindows(corpus, 64, 1)])
    some = np.concatenate([each.tokens for each in HeldOutWindows(corpus, 64, 1, limit=5)])
    places = [int(np.flatnonzero((every == row).all(axis=1))[0]) for row in some]
    assert len(places) == 5
    assert places == sorted(places)
    assert places[-1] > len(every) // 2
    assert len(HeldOutWindows(corpus, 64, 1, limit=10**6)) == len(every)


def test_nothing_held_out():
    windows = HeldOutWindows(samples.TextSource(samples.trained(), {"a.py": "x"}), 64, 4)
    assert (len(windows), list(windows)) == (0, [])
    assert len(HeldOutWindows(samples.source_corpus(), 64, 4, limit=0)) == 0
