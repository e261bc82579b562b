"""What several selected checkpoints have in common, or what all of them take on this disk."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QHBoxLayout

from app.values.checkpoints import CheckpointRow, DiskUseView
from app.values.words import nbytes
from app.window.checkpoints.words import loss_words
from app.window.parts import Card, FigureLabel, label


class OverviewCard(Card):
    """Three figures and a sentence."""

    def __init__(self) -> None:
        super().__init__("All checkpoints", margins=(16, 12, 16, 14), spacing=8)
        row = QHBoxLayout()
        self.figures = (FigureLabel("Checkpoints", 90), FigureLabel("Trash", 90), FigureLabel("Free", 90))
        for figure in self.figures:
            row.addWidget(figure, 1)
        self.column.addLayout(row)
        self.words = label("", "label", wrap=True)
        self.column.addWidget(self.words)

    def show_disk(self, use: DiskUseView, count: int, trash: int) -> None:
        """What the store takes."""
        self.heading.title.setText("On this disk")
        values = (
            ("Checkpoints", f"{count:,}", nbytes(use.checkpoints)),
            ("Trash", f"{trash:,}", nbytes(use.trash) if trash else ""),
            ("Free", nbytes(use.free), ""),
        )
        self._say(values)
        self.words.setText(
            "Select one to see all about it, two to compare them, more to lay their curves over each other."
        )

    def show_chosen(self, rows: Sequence[CheckpointRow]) -> None:
        """Several of them."""
        self.heading.title.setText(f"{len(rows):,} selected")
        losses = [(row.held_out_loss, row.name) for row in rows if row.held_out_loss is not None]
        best, name = min(losses, default=(None, ""))
        size = sum(row.nbytes for row in rows)
        self._say((("Best held-out loss", loss_words(best), ""), ("On disk", nbytes(size), ""), ("", "", "")))
        self.words.setText(f"{name} is the best of them on code it has not seen." if name else "None was measured.")

    def _say(self, values: Sequence[tuple[str, str, str]]) -> None:
        for figure, (name, number, remark) in zip(self.figures, values, strict=True):
            figure.heading.setText(name)
            figure.say(number, remark)
            figure.setVisible(bool(name))
