"""What launches ask of a view: where it starts, and that it is as whole as its shader takes for granted."""

from __future__ import annotations

from engine.errors import InputError
from engine.graph.tensor import View

Views = tuple[View | None, ...]


def start(view: View | None) -> int:
    """First element of a view in its tensor; 0 for an operand that is absent."""
    return 0 if view is None else view.offset


def whole(view: View | None) -> int:
    """The same, of a view whose rows must follow one another without a gap."""
    if view is not None and not view.contiguous:
        raise InputError(f"{view!r} has gaps between its rows.", "Copy it into a tensor of its own.")
    return start(view)
