"""The colours that tell the curves of several checkpoints apart, the same in the table and in the plot.  No Qt."""

from __future__ import annotations

from collections.abc import Sequence

from app.values.checkpoints import HistoryCurve

HUES = ("accent", "third", "second", "warn", "bad")  # tokens; a second round of them is dashed
MOST_CURVES = 2 * len(HUES)


def drawable(curves: Sequence[HistoryCurve]) -> tuple[HistoryCurve, ...]:
    """Those that have something to draw, as many as can be told apart."""
    return tuple(curve for curve in curves if len(curve.steps) or len(curve.held_out_steps))[:MOST_CURVES]


def marks_of(curves: Sequence[HistoryCurve]) -> dict[str, str]:
    """The token of each checkpoint's curve; none where only one was asked for."""
    if len(curves) < 2:
        return {}
    return {curve.id: HUES[place % len(HUES)] for place, curve in enumerate(drawable(curves))}
