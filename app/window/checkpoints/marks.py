"""The colours of the curves of several checkpoints, the same in the table and in the plot.  No Qt."""

from __future__ import annotations

from collections.abc import Sequence

from app.values.checkpoints import HistoryCurve

HUES = ("accent", "third", "second", "warn", "bad")  # tokens; the second round is dashed
MOST_CURVES = 2 * len(HUES)


def drawable(curves: Sequence[HistoryCurve]) -> tuple[HistoryCurve, ...]:
    """Those with something to draw, as many as can be distinguished."""
    return tuple(curve for curve in curves if len(curve.steps) or len(curve.held_out_steps))[:MOST_CURVES]


def marks_of(curves: Sequence[HistoryCurve]) -> dict[str, str]:
    """The token of each checkpoint's curve; empty for a single one."""
    if len(curves) < 2:
        return {}
    return {curve.id: HUES[place % len(HUES)] for place, curve in enumerate(drawable(curves))}
