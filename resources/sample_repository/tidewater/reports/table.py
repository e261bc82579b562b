"""Text in columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Column:
    name: str
    width: int
    right: bool = False

    def cell(self, value: Any) -> str:
        """Cut to the width, never wrapped."""
        text = str(value)
        if len(text) > self.width:
            text = text[: self.width - 1] + "…"
        return text.rjust(self.width) if self.right else text.ljust(self.width)


def table_lines(columns: Sequence[Column], rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """A heading, a rule, and a line for each row."""
    heading = "  ".join(column.cell(column.name) for column in columns).rstrip()
    lines = [heading, "  ".join("-" * column.width for column in columns)]
    for row in rows:
        lines.append("  ".join(column.cell(row.get(column.name, "")) for column in columns).rstrip())
    return lines
