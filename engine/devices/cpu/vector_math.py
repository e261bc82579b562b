"""Exponentials and their kin in float32, for scalars and for lanes.

The C library's functions are calls, and a loop with a call in it is not vectorised; these are a handful of
multiplications. Relative error below 3e-7 over the whole range. No reassociation here: the order of the operations is
what makes them accurate.
"""

from __future__ import annotations

import numpy as np

from engine.compiling import compiled
from engine.devices.cpu.simd import clamp, exponent_of, floor, mantissa_of, power_of_rounded, power_of_two, where_less

f32 = np.float32
ZERO, HALF, ONE = f32(0.0), f32(0.5), f32(1.0)
LOG2_E, LN2 = f32(1.4426950408889634), f32(0.6931471805599453)
LN2_HIGH, LN2_LOW = f32(0.693359375), f32(-2.12194440e-4)  # ln 2 in two parts, the first exact in few bits
EXP_LOWEST, EXP_HIGHEST = f32(-87.0), f32(88.0)
E2, E3, E4 = f32(5.0000001201e-1), f32(1.6666665459e-1), f32(4.1665795894e-2)
E5, E6, E7 = f32(8.3334519073e-3), f32(1.3981999507e-3), f32(1.9875691500e-4)
L1, L2, L3 = f32(3.3333331174e-1), f32(-2.4999993993e-1), f32(2.0000714765e-1)
L4, L5, L6 = f32(-1.6668057665e-1), f32(1.4249322787e-1), f32(-1.2420140846e-1)
L7, L8, L9 = f32(1.1676998740e-1), f32(-1.1514610310e-1), f32(7.0376836292e-2)
# 2^f for f in [-1/2, 1/2]: the Taylor series, whose seventh term is below float32's precision there
P1, P2, P3 = f32(6.9314718056e-1), f32(2.4022650696e-1), f32(5.5504108665e-2)
P4, P5, P6 = f32(9.6181291076e-3), f32(1.3333558146e-3), f32(1.5403530394e-4)
ROUNDER = f32(12582912.0)  # 1.5 * 2^23: adding it rounds to a whole number, which is then in the low bits
SMALLEST_POWER = f32(-126.0)
SOFTPLUS_LINEAR = f32(20.0)
LOG_SPLIT = f32(0.41)

_accurate = compiled(fastmath={"contract"})


@_accurate
def exp(x):
    """e^x; below -87 it stays at e^-87 (1e-38), above 88 at e^88; NaN stays NaN."""
    x = clamp(x, EXP_LOWEST, EXP_HIGHEST)
    k = floor(x * LOG2_E + HALF)
    r = (x - k * LN2_HIGH) - k * LN2_LOW
    tail = ((((r * E7 + E6) * r + E5) * r + E4) * r + E3) * r + E2
    return (tail * r * r + r + ONE) * power_of_two(k)


@_accurate
def decay(x):
    """2^x for x <= 0, the inner loop of the scan; below -126 it stays at 2^-126, which is nothing."""
    x = where_less(x, SMALLEST_POWER, SMALLEST_POWER, x)
    rounded = x + ROUNDER
    f = x - (rounded - ROUNDER)
    tail = ((((f * P6 + P5) * f + P4) * f + P3) * f + P2) * f + P1
    return (tail * f + ONE) * power_of_rounded(rounded)


@_accurate
def log1p(x):
    """log(1 + x) for x >= 0, accurate also where x is tiny."""
    y = x + ONE
    exponent = where_less(x, LOG_SPLIT, ZERO, exponent_of(y))
    f = where_less(x, LOG_SPLIT, x, mantissa_of(y) - ONE)
    tail = (((((((f * L9 + L8) * f + L7) * f + L6) * f + L5) * f + L4) * f + L3) * f + L2) * f + L1
    z = f * f
    return (((tail * f * z + exponent * LN2_LOW) - z * HALF) + f) + exponent * LN2_HIGH


@_accurate
def softplus(x):
    """log(1 + e^x), and x itself above 20."""
    return where_less(x, SOFTPLUS_LINEAR, log1p(exp(x)), x)


@_accurate
def sigmoid(x):
    """1 / (1 + e^-x)."""
    return ONE / (exp(ZERO - x) + ONE)
