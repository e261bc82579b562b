"""What all plots share: the visible steps and the step under the pointer.

One object, so that zooming one plot zooms all of them and pointing at one marks the same step in the others.
"""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

LEAST_SPAN = 4.0  # steps
ZOOM = 1.25  # per click of the wheel


class Timeline(QObject):
    """`span` is None while the range follows the run."""

    moved = Signal()  # the range of steps changed
    pointed = Signal()  # the step under the pointer changed

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.end = 1.0  # the last step of the axis
        self.span: tuple[float, float] | None = None
        self.pointer: float | None = None

    @property
    def range(self) -> tuple[float, float]:
        return self.span or (0.0, self.end)

    @property
    def zoomed(self) -> bool:
        return self.span is not None

    def reach(self, end: float) -> None:
        """Extend the axis to `end`; a zoomed plot stays put."""
        if end != self.end:
            self.end = end
            if self.span is None:
                self.moved.emit()

    def zoom_to(self, low: float, high: float) -> None:
        """Show these steps, or all if that is wider than the run."""
        low, high = sorted((low, high))
        if high - low < LEAST_SPAN:
            middle = (low + high) / 2
            low, high = middle - LEAST_SPAN / 2, middle + LEAST_SPAN / 2
        width = high - low
        low = min(max(low, 0.0), max(self.end - width, 0.0))
        span = None if width >= self.end else (low, low + width)
        if span != self.span:
            self.span = span
            self.moved.emit()

    def zoom_about(self, place: float, factor: float) -> None:
        """Make the range `factor` times as wide around `place`."""
        low, high = self.range
        self.zoom_to(place - (place - low) * factor, place + (high - place) * factor)

    def shift(self, share: float) -> None:
        """Move a zoomed range by a share of its width."""
        if self.span:
            low, high = self.span
            self.zoom_to(low + share * (high - low), high + share * (high - low))

    def reset(self) -> None:
        """Follow the run again."""
        if self.span is not None:
            self.span = None
            self.moved.emit()

    def point(self, step: float | None) -> None:
        """Mark a step, or none."""
        if step != self.pointer:
            self.pointer = step
            self.pointed.emit()
