"""The kernels of Mamba-2 (SSD, state space duality) in NumPy's float64; see `reference`, which has all the others.

The plain recurrence, token by token.  Letters: h heads, e channels of a head, n states, g groups; x holds the inner
channels (h*e), then B (g*n), then C (g*n) of each token.
"""

from __future__ import annotations

import numpy as np

from engine.graph.kernels import STATE_INTERVAL

Arrays = dict[str, np.ndarray]


def _softplus(dt, coefficients, lowest, highest):
    """Delta (t, h), and whether it lies between its limits."""
    free = np.logaddexp(0, dt + coefficients[2])
    return np.clip(free, lowest, highest), (free >= lowest) & (free <= highest)


def ssd_steps(dt, coefficients, steps, lowest, highest) -> Arrays:
    Delta, _ = _softplus(dt, coefficients, lowest, highest)
    return {"steps": np.concatenate([Delta, Delta * coefficients[0]], axis=1)}


def ssd_steps_backward(d_steps, steps, dt, coefficients, d_dt, d_coefficients, lowest, highest) -> Arrays:
    d_Delta, d_decay, d_skip = np.split(d_steps, 3, axis=1)
    Delta, inside = _softplus(dt, coefficients, lowest, highest)
    own = (d_Delta + coefficients[0] * d_decay) * inside * np.exp(-np.logaddexp(0, -(dt + coefficients[2])))
    results = {} if d_dt is None else {"d_dt": own}
    if d_coefficients is not None:
        rows = np.stack([Delta * d_decay, d_skip, own], axis=1)  # (t, 3, h)
        size = -(-len(rows) // len(d_coefficients))
        parts = [rows[i * size : (i + 1) * size].sum(axis=0) for i in range(len(d_coefficients))]
        results["d_coefficients"] = np.stack(parts)
    return results


def _parts(x, heads, states):
    """u (t, h, e), and B and C (t, h, n) repeated for the heads of a group; the number of groups."""
    n, e = states.shape[2] // heads, states.shape[3]
    u, B, C = np.split(x, [heads * e, (x.shape[1] + heads * e) // 2], axis=1)
    groups = B.shape[1] // n
    B, C = (np.repeat(part.reshape(len(x), groups, n), heads // groups, axis=1) for part in (B, C))
    return u.reshape(len(x), heads, e), B, C, groups


def ssd(x, steps, coefficients, states, y, length, carry) -> Arrays:
    heads = steps.shape[1] // 2
    u, B, C, _ = _parts(x, heads, states)
    Delta, decay, states = steps[:, :heads, None, None], np.exp(steps[:, heads:, None, None]), states.copy()
    out = np.zeros_like(u)
    for b in range(len(states)):
        h = states[b, 0].reshape(heads, -1, u.shape[2])  # (h, n, e)
        h = h if carry else np.zeros_like(h)
        for s in range(length):
            i = b * length + s
            if s % STATE_INTERVAL == 0:
                states[b, s // STATE_INTERVAL] = h.reshape(states.shape[2:])
            h = decay[i] * h + Delta[i] * B[i, :, :, None] * u[i, :, None]
            out[i] = (h * C[i, :, :, None]).sum(axis=1) + coefficients[1][:, None] * u[i]
        states[b, -1] = h.reshape(states.shape[2:])
    return {"states": states, "y": out.reshape(len(x), -1)}


def ssd_backward(x, steps, coefficients, states, d_y, d_x, d_steps, length) -> Arrays:
    heads = steps.shape[1] // 2
    u, B, C, groups = _parts(x, heads, states)
    Delta, decay, D = steps[:, :heads], np.exp(steps[:, heads:]), coefficients[1]
    d_y = d_y.reshape(u.shape)
    d_u, d_B, d_C = D[:, None] * d_y, np.zeros_like(B), np.zeros_like(C)
    d_Delta, d_decay = np.zeros_like(Delta), np.zeros_like(Delta)
    for b in range(len(states)):
        h = [states[b, 0].reshape(heads, -1, u.shape[2])]  # h[s] is the state before token s
        for i in range(b * length, (b + 1) * length):
            inflow = Delta[i][:, None, None] * B[i, :, :, None] * u[i, :, None]
            h.append(decay[i][:, None, None] * h[-1] + inflow)
        later = np.zeros_like(h[0])  # the gradient that reaches h[s+1] from later tokens
        for s in reversed(range(length)):
            i = b * length + s
            d_h = later + C[i, :, :, None] * d_y[i, :, None]
            d_C[i] = (d_y[i, :, None] * h[s + 1]).sum(axis=2)
            w = (d_h * B[i, :, :, None]).sum(axis=1)  # (h, e)
            d_u[i] += Delta[i][:, None] * w
            d_B[i] = (d_h * (Delta[i][:, None] * u[i])[:, None]).sum(axis=2)
            d_Delta[i] = (w * u[i]).sum(axis=1)
            later = decay[i][:, None, None] * d_h
            d_decay[i] = (later * h[s]).sum(axis=(1, 2))
    d_BC = [d.reshape(len(x), groups, heads // groups, -1).sum(axis=2).reshape(len(x), -1) for d in (d_B, d_C)]
    d_skip = (d_y * u).sum(axis=2)
    return {
        "d_x": np.concatenate([d_u.reshape(len(x), -1), *d_BC], axis=1),
        "d_steps": np.concatenate([d_Delta, d_decay, d_skip], axis=1),
    }


def ssd_tokens(x, dt, coefficients, state, y, lowest, highest) -> Arrays:
    steps = ssd_steps(dt, coefficients, None, lowest, highest)["steps"]
    kept = np.stack([state, state])[None]  # (1, 2, h*n, e)
    results = ssd(x, steps, coefficients, kept, y, length=len(x), carry=1)
    return {"state": results["states"][0, -1], "y": results["y"]}
