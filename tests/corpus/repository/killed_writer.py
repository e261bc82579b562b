"""Processes that write to a token cache until somebody kills them.

`killed_writer.py FOLDER`: for every line on standard input (a seed) a child is forked that writes, and its number is
printed; when the child is dead, "dead" is.
"""

from __future__ import annotations

import os
import random
import sys
from hashlib import blake2b
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[3]))

from engine.corpus.tokens.token_cache import KEY_BYTES, TokenCache

TEXTS = 400
VOCABULARY = 8192


def key_of(number: int) -> bytes:
    return blake2b(str(number).encode(), digest_size=KEY_BYTES).digest()


def tokens_of(number: int) -> np.ndarray:
    """What belongs to a key, so that anybody can check it."""
    draw = np.random.default_rng(number)
    return draw.integers(0, VOCABULARY, draw.integers(0, 20_000)).astype(np.uint16)


def write(folder: Path, seed: int) -> None:
    """Add texts in an order of its own, without end: what is there is damaged now and then, so that there is work."""
    draw = random.Random(seed)
    cache = TokenCache(folder, VOCABULARY)
    while True:
        numbers = draw.sample(range(TEXTS), draw.randint(1, 12))
        cache.add({key_of(number): tokens_of(number) for number in numbers})
        cache._places.pop(key_of(draw.randrange(TEXTS)), None)


if __name__ == "__main__":
    target = Path(sys.argv[1])
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            write(target, int(line))
        print(child, flush=True)
        os.waitpid(child, 0)
        print("dead", flush=True)
