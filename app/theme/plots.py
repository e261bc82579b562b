"""Pens, brushes and colours of the plots, from the same tokens as the stylesheet.

A plot keeps no colour of its own: it is given a `PlotStyle`, and on a switch of the theme another one.
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
    """The tokens as Qt's drawing tools."""

    tokens: Tokens
    ratio: float = 1.0  # pixels of the screen for one of ours

    def colour(self, token: str, share: float = 1.0) -> QColor:
        """A token's colour; `share` below 1 lets the card shine through, as an opaque colour of its own."""
        return mixed(getattr(self.tokens, token), self.tokens.panel, share)

    def pen(self, token: str, width: float = 1.0, share: float = 1.0, dashed: bool = False) -> QPen:
        """A pen whose width is in pixels at every zoom.  Qt takes those for the screen's own; hair lines stay so."""
        pen = QPen(self.colour(token, share), width * self.ratio if width > 1.0 else width)
        pen.setCosmetic(True)
        pen.setJoinStyle(Qt.PenJoinStyle.BevelJoin)  # a mitre on noise makes spikes that are not in the data
        if dashed:
            pen.setDashPattern([5, 4])
        return pen

    def brush(self, token: str, share: float = 1.0) -> QBrush:
        """A solid fill."""
        return QBrush(self.colour(token, share))

    def memory_brush(self, kind: str) -> QBrush:
        """The fill of one kind of memory; a kind that is new to us is grey."""
        return self.brush(MEMORY_TOKENS.get(kind, "mute"), 0.8)

    def axis_font(self) -> QFont:
        """Small, with numerals of one width."""
        return interface_font(AXIS_FONT)


def mixed(one: str, other: str, share: float) -> QColor:
    """`share` of the first #rrggbb colour and the rest of the second."""
    first, second = QColor(one), QColor(other)
    return QColor(
        *(round(share * a + (1 - share) * b) for a, b in zip(first.getRgb()[:3], second.getRgb()[:3], strict=True))
    )
