"""Near-duplicate texts: MinHash over shingles of five tokens, in one pass over the bytes.

One-permutation hashing: a shingle's hash selects one of 256 bins and competes for that bin's minimum, so a shingle
costs one comparison instead of 256. An empty bin copies a non-empty one, picked by a sequence that depends only on the
empty bin ("optimal densification"). The share of equal bins remains an unbiased estimate of the Jaccard similarity,
with a standard error of 2 points at 85 %.

Tokens are words and single punctuation characters; white space is ignored, so that reindenting a file changes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.corpus.reading.byte_passes import BINS, FEWEST_SHINGLES, compiled, fill_bins

SIGNATURE_BYTES = 2 * BINS
BAND = 8  # bins per band: at 85 % similarity, the chance that none of the 32 bands agrees is 4 in 100,000
THRESHOLD = 0.85

u64 = np.uint64


@dataclass(frozen=True, slots=True)
class NearDuplicates:
    """`of[i] = (j, similarity)`: text i is a near-duplicate of text j, an earlier one that is kept.

    `groups`: every group of two or more, the text that is kept first and the others in order.
    """

    of: dict[int, tuple[int, float]]
    groups: tuple[tuple[int, ...], ...]


def signature(text: str | bytes) -> bytes:
    """The MinHash signature (SIGNATURE_BYTES bytes); empty if the text is too short to compare.  Releases the GIL."""
    data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    bins = np.empty(BINS, np.uint64)
    if fill_bins(np.frombuffer(data, np.uint8), bins) < FEWEST_SHINGLES:
        return b""
    return bins.astype("<u2").tobytes()


def similarity(a: bytes, b: bytes) -> float:
    """The Jaccard similarity of two texts, estimated from their signatures."""
    return float(np.mean(np.frombuffer(a, "<u2") == np.frombuffer(b, "<u2")))


def near_duplicates(signatures: Sequence[bytes], threshold: float = THRESHOLD) -> NearDuplicates:
    """The texts that are near-duplicates of an earlier one; a text with an empty signature never is.

    Earlier texts take precedence: each one is compared only with earlier texts that are kept, and assigned to the most
    similar. A chain of small changes therefore does not put its two ends into one group.
    """
    judged = [i for i, found in enumerate(signatures) if found]
    if len(judged) < 2:
        return NearDuplicates({}, ())
    rows = np.frombuffer(b"".join(signatures[i] for i in judged), "<u2").reshape(len(judged), BINS)
    rows = np.ascontiguousarray(rows, np.uint16)
    keys = np.ascontiguousarray(rows.view(np.uint64)).reshape(len(judged), BINS // BAND, BAND // 4)
    mixed = keys[:, :, 0] * u64(0x9E3779B97F4A7C15) + (keys[:, :, 1] ^ (keys[:, :, 1] >> u64(29)))
    buckets = np.empty(mixed.shape, np.int32)
    for band in range(mixed.shape[1]):
        buckets[:, band] = np.unique(mixed[:, band], return_inverse=True)[1]
    of, equal = _assign(rows, buckets, int(np.ceil(threshold * BINS)))
    found = {judged[i]: (judged[of[i]], float(equal[i]) / BINS) for i in np.flatnonzero(of >= 0).tolist()}
    groups: dict[int, list[int]] = {}
    for member, (kept, _) in found.items():
        groups.setdefault(kept, [kept]).append(member)
    return NearDuplicates(found, tuple(tuple(groups[kept]) for kept in sorted(groups)))


@compiled
def _assign(rows, buckets, least):
    """For every row, the most similar earlier row that is kept (-1 if the row itself is), and the number of equal bins.

    rows: (n, 256); buckets: (n, bands), the bucket of each row in each band.
    """
    n, bands = buckets.shape
    of = np.full(n, -1, np.int64)
    equal = np.zeros(n, np.int64)
    heads = np.full((bands, n), -1, np.int64)  # the latest kept row of each bucket ...
    chain = np.full((n, bands), -1, np.int64)  # ... and the one before it
    asked = np.full(n, -1, np.int64)
    for i in range(n):
        for band in range(bands):
            j = heads[band, buckets[i, band]]
            while j >= 0:
                if asked[j] != i:
                    asked[j] = i
                    count = 0
                    for k in range(rows.shape[1]):
                        count += rows[i, k] == rows[j, k]
                    if count >= least and (count > equal[i] or (count == equal[i] and j < of[i])):
                        equal[i], of[i] = count, j
                j = chain[j, band]
        if of[i] < 0:
            for band in range(bands):
                chain[i, band] = heads[band, buckets[i, band]]
                heads[band, buckets[i, band]] = i
    return of, equal
