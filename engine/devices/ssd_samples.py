"""Small inputs for the kernels of Mamba-2; see `samples`, which has those of all the others.

There are `r` heads of `d` channels with `n` states, in two groups where `r` is even, else in one.
"""

from __future__ import annotations

import numpy as np

from engine.devices.decode_samples import tokens
from engine.devices.sample_parts import Sizes, normal, sample
from engine.devices.ssd_reference import ssd, ssd_steps
from engine.graph.kernels import STATE_INTERVAL
from engine.graph.ssd import SsdShape

LIMITS = {"lowest": 0.01, "highest": 0.9}  # of Delta: some steps in a sample are held at one of them


def shape_of(s: Sizes) -> SsdShape:
    return SsdShape(s.b, s.l, heads=s.r, head_dim=s.d, groups=2 - s.r % 2, state=s.n)


def _coefficients(random, s) -> np.ndarray:
    """-exp(A_log), D and the bias of dt (3, h): Delta from about 0.005 to 0.9."""
    coefficients = normal(random, 3, s.r)
    coefficients[0] = -np.exp(coefficients[0])
    coefficients[2] -= 2
    return coefficients


def _steps_of(dt, coefficients) -> np.ndarray:
    wide = dt.astype(np.float64), coefficients.astype(np.float64)
    return ssd_steps(*wide, None, **LIMITS)["steps"].astype(np.float32)


def _inputs(random, s) -> dict[str, np.ndarray]:
    coefficients = _coefficients(random, s)
    steps = _steps_of(normal(random, s.t, s.r, scale=2), coefficients)
    return {"x": normal(random, s.t, shape_of(s).width), "steps": steps, "coefficients": coefficients}


def _states(random, s) -> np.ndarray:
    return normal(random, s.b, -(-s.l // STATE_INTERVAL) + 1, s.r * s.n, s.d)


def _ssd_steps(random, s, given):
    return sample(
        "ssd_steps", s, given, LIMITS, {"dt": (s.d, 1)},
        dt=normal(random, s.t, s.r, scale=2), coefficients=_coefficients(random, s),
        steps=np.zeros((s.t, 2 * s.r), np.float32),
    )  # fmt: skip


def _ssd_steps_backward(random, s, given):
    coefficients, dt, parts = _coefficients(random, s), normal(random, s.t, s.r, scale=2), -(-s.t // 64)
    return sample(
        "ssd_steps_backward", s, given, LIMITS, {"dt": (s.d, 1), "d_dt": (s.d, 1)},
        d_steps=normal(random, s.t, 3 * s.r), steps=_steps_of(dt, coefficients), dt=dt,
        coefficients=coefficients, d_dt=np.zeros((s.t, s.r), np.float32),
        d_coefficients=np.zeros((parts, 3, s.r), np.float32),
    )  # fmt: skip


def _ssd(random, s, given):
    return sample(
        "ssd", s, given, {"length": s.l, "carry": 1}, **_inputs(random, s), states=_states(random, s),
        y=np.zeros((s.t, s.r * s.d), np.float32),
    )  # fmt: skip


def _ssd_backward(random, s, given):
    """The states are those that the forward leaves when it starts from others than zero."""
    inputs, states = _inputs(random, s), _states(random, s).astype(np.float64)
    wide = {name: array.astype(np.float64) for name, array in inputs.items()}
    kept = ssd(**wide, states=states, y=None, length=s.l, carry=1)["states"]
    return sample(
        "ssd_backward", s, given, {"length": s.l}, **inputs, states=kept.astype(np.float32),
        d_y=normal(random, s.t, s.r * s.d), d_x=np.zeros((s.t, shape_of(s).width), np.float32),
        d_steps=np.zeros((s.t, 3 * s.r), np.float32),
    )  # fmt: skip


def _ssd_tokens(random, s, given):
    t, shape = tokens(s), shape_of(s)
    return sample(
        "ssd_tokens", s, given, LIMITS, {"dt": (s.d, 1)},
        x=normal(random, t, shape.width), dt=normal(random, t, s.r, scale=2), coefficients=_coefficients(random, s),
        state=normal(random, s.r * s.n, s.d), y=np.zeros((t, s.r * s.d), np.float32),
    )  # fmt: skip


MAKERS = {
    "ssd_steps": _ssd_steps,
    "ssd_steps_backward": _ssd_steps_backward,
    "ssd": _ssd,
    "ssd_backward": _ssd_backward,
    "ssd_tokens": _ssd_tokens,
}
