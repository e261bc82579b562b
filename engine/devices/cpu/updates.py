"""Sums, norms, AdamW, fills and casts on the CPU.  Every sum has a fixed order, whatever the number of threads."""

from __future__ import annotations

import numpy as np
from numba import njit, prange

from engine.devices.cpu.compile import kernel
from engine.devices.cpu.halves import narrow_row, read_floats
from engine.devices.cpu.memory import byte_at, byte_lanes_at
from engine.devices.cpu.simd import LANES, clamp, load, root, spread, store
from engine.devices.cpu.simd import total as total_of_lanes
from engine.devices.cpu.vector_math import ONE, ZERO, f32
from engine.graph.kernels import SCALE_BLOCK, Scalars, Statistics

SUM_COLUMNS = 256  # columns of a task of `sum_rows`
BLOCK = 16_384  # elements of a task of the flat kernels
RATE, BETA1, BETA2, EPSILON, DECAY = (
    Scalars.LEARNING_RATE, Scalars.BETA1, Scalars.BETA2, Scalars.EPSILON, Scalars.WEIGHT_DECAY,
)  # fmt: skip
CORRECTION1, CORRECTION2, MAX_NORM, TRUST = (
    Scalars.CORRECTION1, Scalars.CORRECTION2, Scalars.MAX_NORM, Scalars.TRUST,
)  # fmt: skip
LOSS_SUM, GRADIENT_NORM, CLIP_FACTOR = Statistics.LOSS_SUM, Statistics.GRADIENT_NORM, Statistics.CLIP_FACTOR

_inlined = njit(inline="always")  # as text: a call would cost adamw a fifth of its speed


@kernel
def fill(x, value):
    """x = value."""
    for i in prange(x.size):
        x[i] = f32(value)


@kernel
def sum_rows(x, y, y_stride, columns, accumulate):
    """y (i, j) (+)= sum over p of x (p, i*j), y having `columns` columns."""
    parts, size = x.shape
    for task in prange((size + SUM_COLUMNS - 1) // SUM_COLUMNS):
        low = task * SUM_COLUMNS
        width = min(SUM_COLUMNS, size - low)
        sums = np.zeros(SUM_COLUMNS, f32)
        for p in range(parts):
            for j in range(width):
                sums[j] += x[p, low + j]
        for j in range(width):
            at = (low + j) // columns * y_stride + (low + j) % columns
            y[at] = sums[j] + (y[at] if accumulate else ZERO)


@kernel
def total(x, y):
    """y[0] = sum of x."""
    tasks = (x.size + BLOCK - 1) // BLOCK
    sums = np.zeros(tasks, f32)
    for task in prange(tasks):
        partial = ZERO
        for i in range(task * BLOCK, min(x.size, task * BLOCK + BLOCK)):
            partial += x[i]
        sums[task] = partial
    result = ZERO
    for task in range(tasks):
        result += sums[task]
    y[0] = result


@kernel
def squared_norm(x, partials):
    """partials[i] = sum of squares of the i-th of its equal parts of x."""
    parts = partials.size
    rows = (x.size + parts - 1) // parts
    for part in prange(parts):
        first, last = min(x.size, part * rows), min(x.size, part * rows + rows)
        whole = last - (last - first) % LANES
        sums = spread(ZERO)
        for i in range(first, whole, LANES):
            sums = sums + load(x, i) * load(x, i)
        partial = total_of_lanes(sums)
        for i in range(whole, last):
            partial += x[i] * x[i]
        partials[part] = partial


def clip_factor(partials, scalars, statistics):
    """The gradient's norm and the factor that brings it under the limit; 0 where the norm or the loss is not finite."""
    norm = np.sqrt(np.sum(partials, dtype=np.float32))
    statistics[GRADIENT_NORM] = norm
    if not (np.isfinite(norm) and np.isfinite(statistics[LOSS_SUM])):
        statistics[CLIP_FACTOR] = 0.0
    else:
        statistics[CLIP_FACTOR] = scalars[MAX_NORM] / norm if 0 < scalars[MAX_NORM] < norm else 1.0


@_inlined
def _change(m, v, parameter, rate, step1, scale2, epsilon, shrink, trust):
    """What AdamW takes off a parameter, from the new moments."""
    change = rate * (m * step1 / (root(v * scale2) + epsilon) + shrink * parameter)
    if trust > ZERO:
        change = clamp(change, ZERO - trust, trust)
    return change


@_inlined
def _moment(moment, g, beta):
    """The mean that forgets, with `g` in it."""
    return beta * moment + (ONE - beta) * g


@kernel
def adamw(parameter, gradient, first, second, scalars, statistics, decay):
    """One AdamW step with decoupled decay; nothing where the clip factor is 0."""
    factor = statistics[CLIP_FACTOR]
    if factor == ZERO:
        return
    rate, beta1, beta2, epsilon = scalars[RATE], scalars[BETA1], scalars[BETA2], scalars[EPSILON]
    shrink = scalars[DECAY] if decay else ZERO
    step1, scale2 = ONE / scalars[CORRECTION1], ONE / scalars[CORRECTION2]
    trust = scalars[TRUST]
    for task in prange((parameter.size + BLOCK - 1) // BLOCK):
        start, end = task * BLOCK, min(parameter.size, task * BLOCK + BLOCK)
        whole = end - (end - start) % LANES
        for i in range(start, whole, LANES):
            g, p = load(gradient, i) * factor, load(parameter, i)
            m, v = _moment(load(first, i), g, beta1), _moment(load(second, i), g * g, beta2)
            store(first, i, m)
            store(second, i, v)
            store(parameter, i, p - _change(m, v, p, rate, step1, scale2, epsilon, shrink, trust))
        for i in range(whole, end):
            g1, p1 = gradient[i] * factor, parameter[i]
            m1, v1 = _moment(first[i], g1, beta1), _moment(second[i], g1 * g1, beta2)
            first[i] = m1
            second[i] = v1
            parameter[i] = p1 - _change(m1, v1, p1, rate, step1, scale2, epsilon, shrink, trust)


@kernel
def update_squares(parameter, gradient, first, second, scalars, statistics, partials, decay):
    """partials (p, 3): squares of the gradient, of the parameter and of the change that adamw is about to make."""
    factor = statistics[CLIP_FACTOR]
    rate, beta1, beta2, epsilon = scalars[RATE], scalars[BETA1], scalars[BETA2], scalars[EPSILON]
    shrink = scalars[DECAY] if decay else ZERO
    step1, scale2 = ONE / scalars[CORRECTION1], ONE / scalars[CORRECTION2]
    trust = scalars[TRUST]
    parts = partials.shape[0]
    size = (parameter.size + parts - 1) // parts
    for part in prange(parts):
        gradients, parameters, changes = ZERO, ZERO, ZERO
        for i in range(min(parameter.size, part * size), min(parameter.size, part * size + size)):
            gradients += gradient[i] * gradient[i]
            parameters += parameter[i] * parameter[i]
            if factor != ZERO:
                g = gradient[i] * factor
                m, v = _moment(first[i], g, beta1), _moment(second[i], g * g, beta2)
                change = _change(m, v, parameter[i], rate, step1, scale2, epsilon, shrink, trust)
                changes += change * change
        partials[part, 0], partials[part, 1], partials[part, 2] = gradients, parameters, changes


@kernel
def column_squares(x, partials):
    """partials (p, d): sums of squares of each column over p blocks of rows."""
    t, d = x.shape
    parts = partials.shape[0]
    rows = (t + parts - 1) // parts
    for part in prange(parts):
        sums = np.zeros(d, f32)
        for i in range(min(t, part * rows), min(t, part * rows + rows)):
            for j in range(d):
                sums[j] += x[i, j] * x[i, j]
        partials[part, :] = sums


def dead_channels(outputs, gradients, count, share):
    """How many channels lie, in outputs or in gradients, at or below share^2 times the mean."""
    dead = np.zeros(outputs.size, np.bool_)
    for squares in (outputs, gradients):
        dead |= squares <= np.float32(share) ** 2 * squares.mean(dtype=np.float32)
    count[0] = np.count_nonzero(dead)


def widen_float16(x, y):
    """float16 to float32."""
    _widen(x.ctypes.data, y)


@kernel
def _widen(x, y):
    """x: the address of as many float16."""
    for task in prange((y.size + BLOCK - 1) // BLOCK):
        first = task * BLOCK
        read_floats(x + 2 * first, 2, min(BLOCK, y.size - first), y, first)


def narrow_float16(x, y):
    """float32 to float16, to the nearest, ties to even; what is too large becomes infinite."""
    _narrow(x, y.ctypes.data)


@kernel
def _narrow(x, y):
    """y: the address of as many float16."""
    for task in prange((x.size + BLOCK - 1) // BLOCK):
        first = task * BLOCK
        narrow_row(x.ctypes.data + 4 * first, y + 2 * first, min(BLOCK, x.size - first))


def widen_bfloat16(x, y):
    """bfloat16 (as uint16 bits) to float32."""
    y.view(np.uint32)[:] = x.astype(np.uint32) << 16


def narrow_bfloat16(x, y):
    """float32 to bfloat16 bits, to the nearest, ties to even; NaN stays NaN."""
    bits = x.view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    y[:] = np.where(np.isnan(x), (bits >> 16) | 0x40, rounded)


@kernel
def narrow_int8(x, words, scales):
    """x (j, k) as bytes, four to a word, and a scale for each 32 of them."""
    rows, k = x.shape
    as_bytes = words.view(np.int8)
    for j in prange(rows):
        for block in range(scales.shape[1]):
            first = block * SCALE_BLOCK
            last = min(k, first + SCALE_BLOCK)
            largest = ZERO
            for i in range(first, last):
                largest = max(largest, abs(x[j, i]))
            scale = largest / f32(127)
            scales[j, block] = scale
            inverse = ONE / scale if scale > ZERO else ZERO
            for i in range(first, first + SCALE_BLOCK):
                as_bytes[j, i] = np.int8(np.rint(x[j, i] * inverse)) if i < last else np.int8(0)


@kernel
def widen_int8(words, scales, y):
    """y (j, k) = byte * scale."""
    rows, k = y.shape
    whole = k - k % SCALE_BLOCK
    flat = y.reshape(-1)
    for j in prange(rows):
        source = words.ctypes.data + 4 * j * words.shape[1]
        for i in range(0, whole, LANES):
            store(flat, j * k + i, byte_lanes_at(source + i) * scales[j, i // SCALE_BLOCK])
        for i in range(whole, k):
            y[j, i] = byte_at(source + i) * scales[j, i // SCALE_BLOCK]
