"""Numbers of the plots as text, with as many digits as the distance between ticks needs."""

from __future__ import annotations

import math

from app.values.words import nbytes


def decimals(spacing: float) -> int:
    """Digits after the decimal point that distinguish two ticks."""
    if not spacing > 0:
        return 0
    places = max(0, -math.floor(math.log10(spacing) + 1e-9))
    return places + (abs(spacing * 10**places - round(spacing * 10**places)) > 1e-6)  # 0.25 needs one more


def plain(value: float, spacing: float) -> str:
    """4.25 on an axis of quarters, 12,000 on one of thousands."""
    return f"{value:,.{decimals(spacing)}f}"


def count(value: float, _spacing: float = 0.0) -> str:
    """A whole number, short: 950, 1.5k, 12k, 3M."""
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.0f}" if value == int(value) else f"{value:.3g}"


def steps(value: float, _spacing: float = 0.0) -> str:
    """A step number; the first one says what is counted."""
    return f"{value:,.0f}" if value else "step 0"


def rate(value: float, _spacing: float = 0.0) -> str:
    """A learning rate: 0, 3e-3, 2.5e-4."""
    if value == 0:
        return "0"
    power = math.floor(math.log10(abs(value)) + 1e-9)
    return f"{value / 10.0**power:.3g}e{power}"


def size(value: float, spacing: float) -> str:
    """Bytes, in the largest unit in which the ticks are round numbers: 0, 0.5 GiB, 1 GiB."""
    if value == 0:
        return "0"
    for unit, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB")):
        hundredths = 100 * spacing / unit
        if hundredths >= 10 and abs(hundredths - round(hundredths)) < 1e-6:
            return f"{plain(value / unit, spacing / unit)} {name}"
    return nbytes(int(value))


def loss(value: float) -> str:
    """Three decimals."""
    return f"{value:.3f}" if math.isfinite(value) else "not finite"


def significant(value: float) -> str:
    """Three significant digits: 0.0123, 4.56, 1.2e+04."""
    return f"{value:.3g}" if math.isfinite(value) else "not finite"
