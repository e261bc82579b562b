"""Asking a model, without any memory, for lines: whether it recites them, and how likely it finds them among others.

The greedy completion of a text is a certain line exactly if each token of the line is the most likely one after the
tokens before it. So a line is read once, and nothing has to be generated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from engine.corpus.batches.framing import Framing
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.generate.decoder import Decoder
from engine.model.model import Model
from engine.session.recitation.canaries import Canary, alternatives
from engine.session.recitation.rare_lines import RareLine

ALTERNATIVES = 127  # that a planted line is ranked among: 7 bits
ROWS = 16  # of them that are measured at once


def recited(model: Model, lines: Sequence[RareLine], look: Callable[[int], None] = lambda _: None) -> list[bool]:
    """Which of the lines the model continues word for word.  `look` hears of each, and may raise to stop."""
    decoder = Decoder(model)
    try:
        found = []
        for done, line in enumerate(lines):
            look(done)
            decoder.reset()
            scores = decoder.read(line.before)[None]
            if len(line.ids) > 1:
                scores = np.concatenate([scores, decoder.read_each(line.ids[:-1])])
            found.append(bool((scores.argmax(axis=1) == line.ids).all()))
        return found
    finally:
        decoder.close()


def exposure(model: Model, tokenizer: Tokenizer, seed: int, canary: Canary) -> float:
    """Bits: by how many halvings of all lines of its shape the planted one ranks ahead.  1.4 is chance, 7 the most.

    Its rank is estimated among random alternatives, by the loss of the line.
    """
    header = Framing(tokenizer).header(canary.path)
    texts = [canary.line(), *alternatives(seed, canary, ALTERNATIVES)]
    rows = [np.concatenate([header, ids]) for ids in tokenizer.encode_batch(texts)]
    width = max(map(len, rows))
    losses = []
    for first in range(0, len(rows), ROWS):
        group = rows[first : first + ROWS]
        ids, counted = np.zeros((len(group), width), np.int64), np.zeros(len(group), np.int64)
        for place, row in enumerate(group):
            ids[place, : len(row)], counted[place] = row, len(row) - 1
        losses.append(model.losses(ids, counted).sum(axis=1, dtype=np.float64))
    every = np.concatenate(losses)
    rank = 1 + np.count_nonzero(every[1:] <= every[0])
    return math.log2(len(every) / rank)
