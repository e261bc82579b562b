"""Pens, brushes and colours of the plots, from the same tokens as the stylesheet.

A plot has no colours of its own: it is given a `PlotStyle`, and another one when the theme is switched.
"""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtGui import QBrush, QColor, QFont, QPen

from app.theme.fonts import interface_font
from app.theme.tokens import Tokens

AXIS_FONT = 11  # pixels

# What memory is for, from the floor of the stack upwards, each with its token.
MEMORY_TOKENS = {
    "weights": "second",
    "optimiser": "third",
    "gradients": "warn",
    "activations": "accent",
    "workspace": "dim",
    "decode": "bad",
}


@dataclass(frozen=True)
class PlotStyle:
    """The tokens as pens, brushes and colours."""

    tokens: Tokens
    ratio: float = 1.0  # screen pixels for one of ours

    def colour(self, token: str, share: float = 1.0) -> QColor:
        """A token's colour; a `share` below 1 mixes it with that of the card, without transparency."""
        return mixed(getattr(self.tokens, token), self.tokens.panel, share)

    def pen(self, token: str, width: float = 1.0, share: float = 1.0, dashed: bool = False) -> QPen:
        """A pen whose width is in pixels at every zoom: Qt counts screen pixels, and hair lines stay one of them."""
        pen = QPen(self.colour(token, share), width * self.ratio if width > 1.0 else width)
        pen.setCosmetic(True)
        pen.setJoinStyle(Qt.PenJoinStyle.BevelJoin)  # mitred noise shows spikes that are not in the data
        if dashed:
            pen.setDashPattern([5, 4])
        return pen

    def brush(self, token: str, share: float = 1.0) -> QBrush:
        """A solid fill."""
        return QBrush(self.colour(token, share))

    def memory_brush(self, kind: str) -> QBrush:
        """The fill of one kind of memory; grey for an unknown kind."""
        return self.brush(MEMORY_TOKENS.get(kind, "mute"), 0.8)

    def axis_font(self) -> QFont:
        return interface_font(AXIS_FONT)


def mixed(one: str, other: str, share: float) -> QColor:
    """`share` of the first #rrggbb colour and the rest of the second."""
    first, second = QColor(one), QColor(other)
    return QColor(
        *(round(share * a + (1 - share) * b) for a, b in zip(first.getRgb()[:3], second.getRgb()[:3], strict=True))
    )
