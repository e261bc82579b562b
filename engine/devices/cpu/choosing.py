"""The choice of the next token, for one row of scores; in float64, so that the order of a sum does not matter."""

from __future__ import annotations

import numpy as np

from engine.compiling import compiled


@compiled(nogil=True, error_model="numpy")
def penalise_recent(logits, recent, chosen, settings):
    """logits[0, i] / penalty, or times it below zero, for each token i of recent (w,) and chosen (n, 2); -1 is none."""
    penalty, count = settings[4], recent.size
    for place in range(count + chosen.shape[0]):
        token = recent[place] if place < count else chosen[place - count, 0]
        is_new = 0 <= token < logits.shape[1]
        for before in range(place):
            if (recent[before] if before < count else chosen[before - count, 0]) == token:
                is_new = False
        if is_new:
            score = logits[0, token]
            logits[0, token] = score / penalty if score > 0 else score * penalty


@compiled(nogil=True, error_model="numpy")
def choose_token(logits, best, settings, chances, chosen):
    """chosen (1, 2) = a token drawn, and 1; the best one and 0 where `best` does not reach as far as the filters."""
    temperature, top_k, top_p, min_p = settings[0], int(settings[1]), float(settings[2]), float(settings[3])
    width, found = logits.shape[1], (best.shape[1] - 1) // 2
    chosen[0, 0], chosen[0, 1] = int(best[0, 1 + found]), 1
    if temperature == 0:
        return
    if top_k <= 0 or top_k > width:
        top_k = width
    highest = float(best[0, 1])
    count, decided = top_k, True  # tokens that are left, the best first
    if top_p < 1:
        whole, together = 0.0, 0.0
        for i in range(width if top_k == width else min(top_k, found)):
            whole += np.exp((float(logits[0, i] if top_k == width else best[0, 1 + i]) - highest) / temperature)
        count = 0
        while count < min(top_k, found) and (count == 0 or together < top_p * whole):
            together += np.exp((float(best[0, 1 + count]) - highest) / temperature)
            count += 1
        decided = together >= top_p * whole or count == top_k
    if not decided or (count > found and count < width):
        chosen[0, 1] = 0
        return
    last_score, last_token = -np.inf, width
    if count < width:
        last_score, last_token = float(best[0, count]), int(best[0, found + count])
    whole = 0.0
    for i in range(width):
        score = float(logits[0, i])
        share = np.exp((score - highest) / temperature)
        if (score > last_score or (score == last_score and i <= last_token)) and share >= min_p:
            whole += share
    limit, together = whole * float(chances[0]), 0.0
    for i in range(width):
        score = float(logits[0, i])
        share = np.exp((score - highest) / temperature)
        if (score > last_score or (score == last_score and i <= last_token)) and share >= min_p:
            together += share
            chosen[0, 0] = i
            if together > limit:
                return
