"""Cross-entropy on the CPU: loss and, in place, the gradient of the logits."""

from __future__ import annotations

import numpy as np
from numba import prange

from engine.devices.cpu.compile import kernel
from engine.devices.cpu.vector_math import ZERO, exp, f32


@kernel
def cross_entropy(logits, targets, losses, scalars, want_gradient):
    """losses (t,); logits (t, v) become (softmax - onehot) * scalars[0] where want_gradient.

    A negative target counts for nothing.
    """
    t, v = logits.shape
    for i in prange(t):
        target = targets[i]
        if target < 0:
            losses[i] = ZERO
            if want_gradient:
                logits[i, :] = ZERO
            continue
        highest = logits[i, 0]
        for j in range(1, v):
            highest = logits[i, j] if logits[i, j] > highest else highest
        at_target = logits[i, target]
        total = ZERO
        if want_gradient:
            for j in range(v):
                e = exp(logits[i, j] - highest)
                logits[i, j] = e
                total += e
            factor = scalars[0] / total
            for j in range(v):
                logits[i, j] *= factor
            logits[i, target] -= scalars[0]
        else:
            for j in range(v):
                total += exp(logits[i, j] - highest)
        losses[i] = f32(np.log(total)) + highest - at_target
