"""The merging of a tokenizer trained here, compiled: the same ids as `tokenizers`, some twenty times as fast.

Only for the pattern of `tokenizer_training`, whose classes can be read off single bytes: one pass over the bytes,
without the GIL. Written without Numba's own threads: those belong to the CPU device, and two callers at once would
end the process.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.compiling import compiled
from engine.corpus.tokens.byte_alphabet import CHARACTER_OF_BYTE
from engine.corpus.tokens.tokenizer_training import CODE_PATTERN

BLANK, LINE, DIGIT, LETTER, UNDERSCORE, FEED, OTHER = range(7)
SPACE = 0x20
EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)
MIXER = np.uint64(0x9E3779B97F4A7C15)
NONE = np.int32(0x7FFFFFFF)
SHORT = 48  # bytes of a word up to which searching all pairs beats a heap


def _classes() -> np.ndarray:
    """(256,) uint8: what each byte is to the pattern."""
    classes = np.full(256, OTHER, np.uint8)
    for kind, members in [(BLANK, " \t"), (LINE, "\r\n"), (DIGIT, "0123456789"), (UNDERSCORE, "_"), (FEED, "\x0b\f")]:
        classes[[ord(member) for member in members]] = kind
    classes[[byte for byte in range(256) if byte >= 0x80 or chr(byte).isalpha()]] = LETTER
    return classes


class CodeMerges:
    """Tables for one vocabulary; `encode` may run in several threads at once."""

    def __init__(self, model: dict[str, Any]) -> None:
        vocab = model["vocab"]
        pairs = [merge if isinstance(merge, list) else merge.split(" ") for merge in model["merges"]]
        merges = {(vocab[left], vocab[right]): rank for rank, (left, right) in enumerate(pairs)}
        keys = np.array([left << 32 | right for left, right in merges], np.uint64)
        ranks = np.array(list(merges.values()), np.int32)
        made = np.array([vocab["".join(pairs[rank])] for rank in merges.values()], np.int32)
        size = 1 << max(4, (4 * len(merges)).bit_length())
        self._keys, self._values = np.full(size, EMPTY, np.uint64), np.full((size, 2), NONE, np.int32)
        _fill(self._keys, self._values, keys, ranks, made)
        self._byte_ids = np.array([vocab[character] for character in CHARACTER_OF_BYTE], np.int32)
        self._classes = _classes()

    @staticmethod
    def can_read(description: dict[str, Any]) -> bool:
        """Whether a description for reading text (`exact_description`) splits and merges as this file does."""
        steps = (description["pre_tokenizer"] or {}).get("pretokenizers") or []
        split = {"type": "Split", "pattern": {"Regex": CODE_PATTERN}, "behavior": "Isolated", "invert": False}
        return (
            len(steps) == 2
            and steps[0] == split
            and steps[1].get("type") == "ByteLevel"
            and not steps[1].get("use_regex", True)
            and not description["added_tokens"]
            and not description["model"].get("ignore_merges")
        )

    def encode(self, data: bytes) -> np.ndarray:
        """The ids (int32) of `data`."""
        if not data:
            return np.empty(0, np.int32)
        source = np.frombuffer(data, np.uint8)
        ids = np.empty(len(source), np.int32)
        count = _encode(source, self._classes, self._byte_ids, self._keys, self._values, ids)
        return ids[:count]


@compiled(nogil=True)
def _slot(keys, key):
    """Where `key` is, or the empty place where it would be."""
    mask = np.uint64(len(keys) - 1)
    place = (key * MIXER >> np.uint64(32)) & mask
    while keys[place] != key and keys[place] != EMPTY:
        place = (place + np.uint64(1)) & mask
    return place


@compiled(nogil=True)
def _fill(keys, values, new_keys, ranks, made):
    for i in range(len(new_keys)):
        place = _slot(keys, new_keys[i])
        keys[place], values[place, 0], values[place, 1] = new_keys[i], ranks[i], made[i]


@compiled(nogil=True)
def _find(keys, values, left, right):
    """(rank, made) of a pair; the rank is NONE where it does not merge."""
    place = _slot(keys, np.uint64(left) << np.uint64(32) | np.uint64(right))
    return values[place, 0], values[place, 1]


@compiled(nogil=True)
def _word_end(source, classes, start):
    """Where the word at `start` ends: CODE_PATTERN, its alternatives in the same order."""
    n = len(source)
    kind = classes[source[start]]
    end = start + 1
    if kind == DIGIT:
        return end
    if kind == LINE:
        while end < n and classes[source[end]] == LINE:
            end += 1
        while end < n and classes[source[end]] == BLANK:
            end += 1
        return end
    if kind == FEED:
        while end < n and classes[source[end]] == FEED:
            end += 1
        return end
    begin = start + 1 if source[start] == SPACE else start
    if begin < n and (begin == start or classes[source[begin]] != BLANK):
        end = begin
        while end < n and classes[source[end]] == UNDERSCORE:
            end += 1
        if end < n and classes[source[end]] == LETTER:
            while end < n and classes[source[end]] == LETTER:
                end += 1
            return end
        if end > begin:
            return end
        while end < n and classes[source[end]] == OTHER:
            end += 1
        if end > begin:
            return end
    end = start + 1
    while end < n and classes[source[end]] == BLANK:
        end += 1
    return end


@compiled(nogil=True)
def _encode(source, classes, byte_ids, keys, values, ids):
    """Fill `ids`, which is as long as `source`; returns how many there are."""
    ranks, made = np.empty(SHORT, np.int32), np.empty(SHORT, np.int32)
    count = start = 0
    while start < len(source):
        end = _word_end(source, classes, start)
        n = end - start
        word = ids[count : count + n]
        for i in range(n):
            word[i] = byte_ids[source[start + i]]
        count += _merge_short(word, keys, values, ranks, made) if n <= SHORT else _merge_long(word, keys, values)
        start = end
    return count


@compiled(nogil=True)
def _merge_short(word, keys, values, ranks, made):
    """Merge in place, the lowest rank first and the leftmost among equals; returns the remaining length."""
    n = len(word)
    for i in range(n - 1):
        ranks[i], made[i] = _find(keys, values, word[i], word[i + 1])
    while n > 1:
        best = 0
        for i in range(1, n - 1):
            if ranks[i] < ranks[best]:
                best = i
        if ranks[best] == NONE:
            break
        word[best] = made[best]
        n -= 1
        for i in range(best + 1, n):
            word[i] = word[i + 1]
            ranks[i - 1], made[i - 1] = ranks[i], made[i]
        if best > 0:
            ranks[best - 1], made[best - 1] = _find(keys, values, word[best - 1], word[best])
        if best < n - 1:
            ranks[best], made[best] = _find(keys, values, word[best], word[best + 1])
    return n


@compiled(nogil=True)
def _merge_long(word, keys, values):
    """As `_merge_short`, with a heap of (rank, place) over a linked list, for words such as a line of base64."""
    n = len(word)
    before, after = np.arange(-1, n - 1), np.arange(1, n + 1)
    heap = np.empty(3 * n, np.int64)  # n - 1 pairs at first, and each merge takes one away and makes at most two
    size = 0
    for i in range(n - 1):
        rank, _ = _find(keys, values, word[i], word[i + 1])
        if rank != NONE:
            size = _push(heap, size, np.int64(rank) << 32 | i)
    while size:
        top = heap[0]
        size = _pop(heap, size)
        place = top & 0xFFFFFFFF
        follower = after[place]
        if word[place] < 0 or follower >= n:
            continue
        rank, made = _find(keys, values, word[place], word[follower])
        if rank != top >> 32:
            continue  # one of the two has merged since
        word[place], word[follower] = made, -1
        after[place] = after[follower]
        if after[place] < n:
            before[after[place]] = place
            rank, _ = _find(keys, values, made, word[after[place]])
            if rank != NONE:
                size = _push(heap, size, np.int64(rank) << 32 | place)
        if before[place] >= 0:
            rank, _ = _find(keys, values, word[before[place]], made)
            if rank != NONE:
                size = _push(heap, size, np.int64(rank) << 32 | before[place])
    count = 0
    for i in range(n):
        if word[i] >= 0:
            word[count] = word[i]
            count += 1
    return count


@compiled(nogil=True)
def _push(heap, size, entry):
    place = size
    while place > 0 and heap[(place - 1) >> 1] > entry:
        heap[place] = heap[(place - 1) >> 1]
        place = (place - 1) >> 1
    heap[place] = entry
    return size + 1


@compiled(nogil=True)
def _pop(heap, size):
    """Remove the first entry."""
    size -= 1
    entry, place = heap[size], 0
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= entry:
            break
        heap[place] = heap[child]
        place = child
    heap[place] = entry
    return size
