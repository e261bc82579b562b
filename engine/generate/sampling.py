"""From scores to the next token: a defined order, and the same choice on every machine.

    repetition penalty ─▶ temperature ─▶ top-k ─▶ top-p ─▶ min-p ─▶ one draw

Each filter sees what the previous one left, as probabilities that add up to 1. Of two tokens with the same score, the
lower id stays. Randomness is a function of the seed and of how many tokens were drawn before, without a generator: a
request gives the same text however its prompt was read, on every platform and with every version of NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from engine.generate.options import Sampling


@dataclass(frozen=True)
class Candidates:
    """Scores to choose from: `ids` (n,) ascending and their `scores` (n,), or every score by id where `ids` is None."""

    scores: np.ndarray
    ids: np.ndarray | None = None

    @staticmethod
    def best(ids: np.ndarray, scores: np.ndarray) -> Candidates:
        """From ids in any order."""
        order = np.argsort(ids)
        return Candidates(scores[order], ids[order])


def choose(candidates: Candidates, sampling: Sampling, recent: Sequence[int], drawn: int) -> int:
    """The next token.  `recent`: all tokens before it; `drawn`: how many were chosen before."""
    ids, scores = candidates.ids, candidates.scores
    if sampling.penalises:
        scores = penalised(scores, ids, recent[-sampling.repetition_window :], sampling.repetition_penalty)
    if sampling.temperature == 0.0:
        place = int(np.argmax(scores))
        return place if ids is None else int(ids[place])
    left, shares = distribution(scores, sampling)
    place = int(left[draw(shares, uniform(sampling.seed, drawn))])
    return place if ids is None else int(ids[place])


def distribution(scores: np.ndarray, sampling: Sampling) -> tuple[np.ndarray, np.ndarray]:
    """The indices (ascending) that temperature and filters leave, and their probabilities (float64, sum 1)."""
    places = np.arange(len(scores))
    scaled = scores.astype(np.float64) / sampling.temperature
    if 0 < sampling.top_k < len(scaled):
        places = largest(scaled, sampling.top_k)
        scaled = scaled[places]
    shares = np.exp(scaled - scaled.max())
    shares /= shares.sum()
    if sampling.top_p < 1.0:
        # The fewest tokens that together have top_p; at least one.
        together = np.cumsum(np.sort(shares)[::-1])
        kept = largest(shares, min(int(np.searchsorted(together, sampling.top_p)) + 1, len(shares)))
        places, shares = places[kept], shares[kept] / shares[kept].sum()
    if sampling.min_p > 0.0:
        kept = np.flatnonzero(shares >= sampling.min_p * shares.max())
        places, shares = places[kept], shares[kept] / shares[kept].sum()
    return places, shares


def largest(values: np.ndarray, count: int) -> np.ndarray:
    """The indices (ascending) of the `count` largest values; of equal ones the first."""
    if count >= len(values):
        return np.arange(len(values))
    limit = np.partition(values, len(values) - count)[len(values) - count]
    above = np.flatnonzero(values > limit)
    equal = np.flatnonzero(values == limit)[: count - len(above)]
    return np.sort(np.concatenate([above, equal]))


def penalised(scores: np.ndarray, ids: np.ndarray | None, recent: Sequence[int], penalty: float) -> np.ndarray:
    """A copy of `scores` with those of `recent` tokens lowered, each once."""
    tokens = np.unique(np.asarray(recent, np.int64))
    places = tokens[tokens < len(scores)] if ids is None else np.flatnonzero(np.isin(ids, tokens))
    scores = scores.astype(np.float32, copy=True)
    found = scores[places]
    scores[places] = np.where(found > 0, found / penalty, found * penalty)
    return scores


def draw(shares: np.ndarray, chance: float) -> int:
    """The index where the running sum of `shares` passes `chance`."""
    together = np.cumsum(shares)
    place = int(np.searchsorted(together, chance * together[-1], side="right"))
    return min(place, len(shares) - 1)


def uniform(seed: int, number: int) -> float:
    """The `number`-th random number of a seed, in [0, 1)."""
    digest = blake2b(f"codecoil sample\0{seed}\0{number}".encode(), digest_size=8).digest()
    return math.ldexp(int.from_bytes(digest, "little") >> 11, -53)
