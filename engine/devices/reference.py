"""Every kernel in NumPy's float64: its definition, for the tests and for the self-test of the CPU device.

Not fast, and not a device.  A function has its kernel's name, takes its operands and numbers by name, changes none of
them and returns what the kernel writes.  Letters and shapes: engine.graph.kernels.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from engine.devices import (
    attention_reference,
    decode_reference,
    fused_reference,
    mixture_reference,
    ssd_reference,
)
from engine.devices.samples import Sample
from engine.graph.kernels import KERNELS, STATE_INTERVAL, Scalars, Statistics

Arrays = dict[str, np.ndarray]
BESIDE = 7.0  # what run_sample puts beside a strided operand: it must not change


def reference(sample: Sample) -> Arrays:
    """What `single_kernel.run_sample` should return for this sample."""
    operands = {name: _widened(array) for name, array in sample.operands.items()}
    results = _REFERENCES[sample.kernel](**operands, **sample.numbers)
    for name, (left, right) in sample.beside.items():
        if name in results:
            results[f"beside {name}"] = np.full((len(results[name]), left + right), BESIDE)
    return results


def _widened(array: np.ndarray | None) -> np.ndarray | None:
    return array.astype(np.float64) if array is not None and array.dtype == np.float32 else array


def sigmoid(x):
    """1 / (1 + e^-x), without overflow."""
    return np.exp(-np.logaddexp(0, -x))


def silu(x):
    """x * sigmoid(x)."""
    return x * sigmoid(x)


def d_silu(x):
    """The derivative of silu."""
    return sigmoid(x) * (1 + x * (1 - sigmoid(x)))


# ---- embedding and norm


def fill(x, value) -> Arrays:
    return {"x": np.full(x.shape, value)}


def embedding_gather(ids, table, y, first_row) -> Arrays:
    y = y.copy()
    for i, row in enumerate(ids - int(first_row)):
        if 0 <= row < len(table):
            y[i] = table[row]
    return {"y": y}


def embedding_gather_float16(ids, table, y, first_row) -> Arrays:
    return embedding_gather(ids, table.astype(np.float64), y, first_row)


def embedding_gather_int8(ids, words, scales, y, first_row) -> Arrays:
    table = decode_reference.widen_int8(words, scales, np.empty((len(words), y.shape[1])))["y"]
    return embedding_gather(ids, table, y, first_row)


def embedding_scatter(ids, order, d_y, d_table, first_row) -> Arrays:
    d_table = d_table.copy()
    for i in order:
        row = ids[i] - int(first_row)
        if 0 <= row < len(d_table):
            d_table[row] += d_y[i]
    return {"d_table": d_table}


def embedding_store(ids, x, table, first_row) -> Arrays:
    table = table.copy()
    for i, row in enumerate(ids - int(first_row)):
        if 0 <= row < len(table):
            table[row] = x[i]
    return {"table": table}


def gather_columns(ids, x, y) -> Arrays:
    return {"y": x[:, ids]}


def rmsnorm(x, scale, y, inverse_rms, epsilon) -> Arrays:
    r = 1 / np.sqrt((x**2).mean(axis=1) + epsilon)
    return {"y": _scale_rows(scale, x) * x * r[:, None], "inverse_rms": r}


def _scale_rows(scale, x):
    """The part of scale (g*m) for each row of x (t, m)."""
    return scale.reshape(-1, x.shape[1])[np.arange(len(x)) % (len(scale) // x.shape[1])]


def rmsnorm_backward(d_y, x, scale, inverse_rms, d_x, d_scale, accumulate) -> Arrays:
    r = inverse_rms[:, None]
    w = d_y * _scale_rows(scale, x)
    own = r * (w - x * r**2 * (w * x).mean(axis=1, keepdims=True))
    results = {"d_x": own + d_x if accumulate else own}
    if d_scale is not None:
        size = -(-len(x) // len(d_scale))
        sums = np.zeros((len(d_scale), len(scale) // x.shape[1], x.shape[1]))
        for i, row in enumerate(d_y * x * r):
            sums[i // size, i % sums.shape[1]] += row
        results["d_scale"] = sums.reshape(len(d_scale), -1)
    return results


# ---- products


def _product(a, b, c, addend, bias, alpha, accumulate) -> Arrays:
    result = alpha * (a @ b)
    for term in (addend, bias, c if accumulate else None):
        if term is not None:
            result = result + term
    return {"c": result}


def matmul_nt(a, b, **others) -> Arrays:
    return _product(a, b.T, **others)


def matmul_nn(a, b, **others) -> Arrays:
    return _product(a, b, **others)


def matmul_tn(a, b, **others) -> Arrays:
    return _product(a.T, b, **others)


# ---- convolution


def _convolved(x, weight, bias, history, length) -> tuple[np.ndarray, np.ndarray]:
    """x (b, k-1+l, d) with the history in front, and v (b, l, d), the convolution before silu."""
    d, k = weight.shape
    x = x.reshape(-1, length, d)
    before = np.zeros((len(x), k - 1, d)) if history is None else history
    x = np.concatenate([before, x], axis=1)
    v = np.zeros((len(x), length, d)) if bias is None else np.tile(bias, (len(x), length, 1))
    for j in range(k):
        v = v + weight[:, j] * x[:, j : j + length]
    return x, v


def causal_conv_silu(x, weight, bias, history, y, length) -> Arrays:
    _, v = _convolved(x, weight, bias, history, length)
    return {"y": silu(v).reshape(x.shape)}


def causal_conv_silu_backward(d_y, x, weight, bias, d_x, d_weight, d_bias, length) -> Arrays:
    k = weight.shape[1]
    padded, v = _convolved(x, weight, bias, None, length)
    d_v = d_y.reshape(v.shape) * d_silu(v)
    d_padded = np.zeros_like(padded)
    for j in range(k):
        d_padded[:, j : j + length] += weight[:, j] * d_v
    by_tap = [(d_v * padded[:, j : j + length]).sum(axis=1) for j in range(k)]
    d_own = d_padded[:, k - 1 :].reshape(x.shape)
    results = {"d_x": d_own, "d_weight": np.stack(by_tap, axis=2), "d_bias": d_v.sum(axis=1)}
    wanted = {"d_x": d_x, "d_weight": d_weight, "d_bias": d_bias}
    return {name: result for name, result in results.items() if wanted[name] is not None}


# ---- scan and gate


def scan_coefficients(A_log, D, dt_bias, coefficients) -> Arrays:
    return {"coefficients": np.vstack([-np.exp(A_log).T, D, dt_bias])}


def scan_coefficients_backward(d_coefficients, coefficients, d_A_log, d_D, d_dt_bias, accumulate) -> Arrays:
    *d_A, own_D, own_dt_bias = d_coefficients.sum(axis=0)
    own = {"d_A_log": (np.array(d_A) * coefficients[:-2]).T, "d_D": own_D, "d_dt_bias": own_dt_bias}
    before = {"d_A_log": d_A_log, "d_D": d_D, "d_dt_bias": d_dt_bias}
    return {name: own[name] + before[name] if accumulate else own[name] for name in own}


def selective_scan(u, delta, x_dbl, coefficients, states, y, workspace, length, rank, carry) -> Arrays:
    A, (D, dt_bias) = coefficients[:-2], coefficients[-2:]
    B, C = np.split(x_dbl[:, rank:, None], 2, axis=1)  # (t, n, 1)
    Delta = np.logaddexp(0, delta + dt_bias)
    y, states = np.zeros_like(u), states.copy()
    for b in range(len(states)):
        h = states[b, 0] if carry else np.zeros_like(A)  # (n, d)
        for s in range(length):
            i = b * length + s
            if s % STATE_INTERVAL == 0:
                states[b, s // STATE_INTERVAL] = h
            h = np.exp(Delta[i] * A) * h + Delta[i] * u[i] * B[i]
            y[i] = (h * C[i]).sum(axis=0) + D * u[i]
        states[b, -1] = h
    return {"states": states, "y": y}


def selective_scan_backward(
    u, delta, x_dbl, coefficients, states, d_y, partials, workspace, length, rank, want_inputs, want_coefficients
) -> Arrays:
    """Sums over channels are complete, as `d_BC` (t, 2n), and those over a sequence as `d_coefficients`."""
    A, (D, dt_bias) = coefficients[:-2], coefficients[-2:]
    B, C = np.split(x_dbl[:, rank:, None], 2, axis=1)
    Delta = np.logaddexp(0, delta + dt_bias)
    d_u, d_delta = D * d_y, np.zeros_like(delta)
    d_B, d_C = np.zeros(B.shape[:2]), np.zeros(C.shape[:2])
    d_coefficients = np.zeros((len(states), *coefficients.shape))
    for b in range(len(states)):
        h = [states[b, 0]]  # h[s] is the state before token s
        for i in range(b * length, (b + 1) * length):
            h.append(np.exp(Delta[i] * A) * h[-1] + Delta[i] * u[i] * B[i])
        d_A, d_D, d_dt_bias = d_coefficients[b, :-2], d_coefficients[b, -2], d_coefficients[b, -1]
        later = np.zeros_like(A)  # the gradient that reaches h[s+1] from later tokens
        for s in reversed(range(length)):
            i = b * length + s
            a = np.exp(Delta[i] * A)
            d_h = d_y[i] * C[i] + later
            d_B[i] = (d_h * Delta[i] * u[i]).sum(axis=1)
            d_C[i] = (d_y[i] * h[s + 1]).sum(axis=1)
            q = d_h * a * h[s]
            d_inflow = (d_h * B[i]).sum(axis=0)
            d_delta[i] = ((q * A).sum(axis=0) + d_inflow * u[i]) * sigmoid(delta[i] + dt_bias)
            d_u[i] += d_inflow * Delta[i]
            d_A += q * Delta[i]
            d_D += d_y[i] * u[i]
            d_dt_bias += d_delta[i]
            later = a * d_h
    results = {"d_BC": np.concatenate([d_B, d_C], axis=1)}
    if want_inputs:
        results |= {"d_y": d_u, "delta": d_delta}
    if want_coefficients:
        results["d_coefficients"] = d_coefficients
    return results


def gate(y, z, g) -> Arrays:
    return {"g": y * silu(z)}


def gate_backward(d_g, y, z, d_z) -> Arrays:
    results = {"d_g": d_g * silu(z), "y": y * silu(z)}
    return results if d_z is None else results | {"d_z": d_g * y * d_silu(z)}


# ---- loss, sums and AdamW


def cross_entropy(logits, targets, losses, scalars, want_gradient) -> Arrays:
    counts = targets >= 0
    onehot = np.arange(logits.shape[1]) == targets[:, None]
    log_softmax = logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)
    gradient = (np.exp(log_softmax) - onehot) * scalars[Scalars.GRADIENT_SCALE] * counts[:, None]
    losses = np.where(counts, -(log_softmax * onehot).sum(axis=1), 0)
    return {"losses": losses, "logits": gradient if want_gradient else logits}


def sum_rows(x, y, columns, accumulate) -> Arrays:
    own = x.sum(axis=0).reshape(-1, int(columns))
    return {"y": own + y if accumulate else own}


def total(x, y) -> Arrays:
    return {"y": np.array([x.sum()])}


def squared_norm(x, partials) -> Arrays:
    size = -(-len(x) // len(partials))
    return {"partials": np.array([(x[i * size : (i + 1) * size] ** 2).sum() for i in range(len(partials))])}


def clip_factor(partials, scalars, statistics) -> Arrays:
    statistics = statistics.copy()
    norm, limit = np.sqrt(partials.sum()), scalars[Scalars.MAX_NORM]
    finite = np.isfinite(norm) and np.isfinite(statistics[Statistics.LOSS_SUM])
    statistics[Statistics.GRADIENT_NORM] = norm
    statistics[Statistics.CLIP_FACTOR] = 0 if not finite else limit / norm if 0 < limit < norm else 1
    return {"statistics": statistics}


def adamw(parameter, gradient, first, second, scalars, statistics, decay) -> Arrays:
    factor, s = statistics[Statistics.CLIP_FACTOR], scalars
    if factor == 0:
        return {"parameter": parameter, "first": first, "second": second}
    g = gradient * factor
    first = s[Scalars.BETA1] * first + (1 - s[Scalars.BETA1]) * g
    second = s[Scalars.BETA2] * second + (1 - s[Scalars.BETA2]) * g**2
    step = (first / s[Scalars.CORRECTION1]) / (np.sqrt(second / s[Scalars.CORRECTION2]) + s[Scalars.EPSILON])
    change = s[Scalars.LEARNING_RATE] * (step + (s[Scalars.WEIGHT_DECAY] * parameter if decay else 0))
    if s[Scalars.TRUST] > 0:
        change = np.clip(change, -s[Scalars.TRUST], s[Scalars.TRUST])
    return {"parameter": parameter - change, "first": first, "second": second}


def update_squares(parameter, gradient, first, second, scalars, statistics, partials, decay) -> Arrays:
    after = adamw(parameter, gradient, first, second, scalars, statistics, decay)["parameter"]
    squares = np.stack([gradient, parameter, parameter - after], axis=1) ** 2
    size = -(-len(parameter) // len(partials))
    return {"partials": np.stack([squares[i * size : (i + 1) * size].sum(axis=0) for i in range(len(partials))])}


def column_squares(x, partials) -> Arrays:
    rows = -(-len(x) // len(partials))
    return {"partials": np.stack([(x[i * rows : (i + 1) * rows] ** 2).sum(axis=0) for i in range(len(partials))])}


def dead_channels(outputs, gradients, count, share) -> Arrays:
    dead = (outputs <= share**2 * outputs.mean()) | (gradients <= share**2 * gradients.mean())
    return {"count": np.array([dead.sum()])}


# ---- casts: exact, by bits


def widen_float16(x, y) -> Arrays:
    return {"y": x.astype(np.float64)}


def widen_bfloat16(x, y) -> Arrays:
    return {"y": (x.astype(np.uint32) << 16).view(np.float32).astype(np.float64)}


def narrow_float16(x, y) -> Arrays:
    with np.errstate(over="ignore"):
        return {"y": x.astype(np.float16)}


def narrow_bfloat16(x, y) -> Arrays:
    """The upper half of the bits of a float32, plus one where the lower half is past the middle, or at it and odd."""
    bits = x.astype(np.float32).view(np.uint32)
    upper, lower = bits >> 16, bits & 0xFFFF
    up = (lower > 0x8000) | ((lower == 0x8000) & (upper % 2 == 1))
    return {"y": np.where(np.isnan(x), upper | 0x40, upper + up).astype(np.uint16)}


_MODULES = (decode_reference, attention_reference, mixture_reference, ssd_reference, fused_reference)
_OTHERS = {name: function for module in _MODULES for name, function in vars(module).items()}
_REFERENCES: dict[str, Callable[..., Arrays]] = {name: _OTHERS.get(name) or globals()[name] for name in KERNELS}
