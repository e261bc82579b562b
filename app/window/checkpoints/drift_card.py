"""How two checkpoints differ: the drift map, options and scores."""

from __future__ import annotations

import html

import numpy as np
from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QHBoxLayout

from app.theme import Theme, Tokens
from app.values.checkpoints import CheckpointRow, ComparisonView
from app.values.words import percent
from app.window.checkpoints.card_text import CardText
from app.window.checkpoints.drift_map import MEASURES, ColourScale, DriftMap
from app.window.checkpoints.words import field_words
from app.window.parts import Card, ElidedLabel, LinkButton, Segmented, label


class DriftCard(Card):
    """Shows the comparison, or that it is being computed, or why there is none."""

    side_by_side_wanted = Signal()

    def __init__(self) -> None:
        super().__init__("Drift", margins=(16, 12, 16, 12), spacing=8)
        self.compared: ComparisonView | None = None
        self.complete_button = LinkButton("Side by side", "Let both complete the same code on the Complete page")
        self.complete_button.clicked.connect(self.side_by_side_wanted)
        self.heading.row.addWidget(self.complete_button)
        self.words = label("", "label", wrap=True)
        self.column.addWidget(self.words)
        self.measure = Segmented([(key, *words) for key, words in MEASURES.items()], "Measure")
        self.measure.set_value("relative_l2")
        self.measure.chosen.connect(self.on_measure_chosen)
        row = QHBoxLayout()
        row.addWidget(self.measure)
        row.addStretch(1)
        self.column.addLayout(row)
        self.map = DriftMap()
        self.column.addSpacing(4)
        self.column.addWidget(self.map)
        foot = QHBoxLayout()
        foot.setSpacing(10)
        self.read_out = ElidedLabel("", "strong")
        self.scale = ColourScale()
        foot.addWidget(self.read_out, 1)
        foot.addWidget(self.scale)
        self.column.addLayout(foot)
        self.map.pointed.connect(self.on_pointed)
        self._parts = (self.measure, self.map, self.read_out, self.scale)
        self.wait_for(None, None)

    def wait_for(self, first: CheckpointRow | None, second: CheckpointRow | None) -> None:
        self.compared = None
        self._say_who(first, second)
        self._show(False, "Comparing…")

    def refuse(self, words: str) -> None:
        """They cannot be compared; `words` say why."""
        self.compared = None
        self._show(False, words)

    def show_comparison(self, compared: ComparisonView) -> None:
        self.compared = compared
        self._say_who(compared.first, compared.second)
        changed = percent(compared.changed_share)
        far = f"{100 * compared.relative_l2:.3g} %" if np.isfinite(compared.relative_l2) else "not finite"
        words = f"{changed} of the weights differ, by {far} in norm."
        self._show(True, words if compared.changed_share else "The weights are identical.")
        self.on_measure_chosen(self.measure.value)

    def _say_who(self, first: CheckpointRow | None, second: CheckpointRow | None) -> None:
        self.heading.say(f"{first.name} → {second.name}" if first and second else "")

    def _show(self, found: bool, words: str) -> None:
        self.words.setText(words)
        for part in self._parts:
            part.setVisible(found)

    @Slot(str)
    def on_measure_chosen(self, measure: str) -> None:
        if self.compared is not None:
            missing = np.isnan(self.compared.heat_maps["changed_share"].values)
            self.map.show_map(self.compared.heat_maps[measure], missing)
            self.scale.show_for(self.map)

    @Slot(str)
    def on_pointed(self, words: str) -> None:
        if words:
            self.read_out.set_words(words)
        else:
            summary = self.map.summary() if self.map.heat is not None else ""
            self.read_out.set_words(summary[:1].upper() + summary[1:])


class DifferencesCard(Card):
    """Options and scores that differ."""

    def __init__(self) -> None:
        super().__init__("Other differences", margins=(16, 12, 16, 12), spacing=6)
        self.compared: ComparisonView | None = None
        self.text = CardText("Other differences")
        self.column.addWidget(self.text)
        Theme.current().restyled.connect(self.on_restyled)

    def show_comparison(self, compared: ComparisonView | None) -> None:
        """Hidden if nothing differs."""
        self.compared = compared
        found = compared is not None and bool(compared.options or compared.metrics)
        self.setVisible(found)
        if found:
            self.text.show_html(self._html(compared, Theme.current().tokens))

    @staticmethod
    def _html(compared: ComparisonView, tokens: Tokens) -> str:
        def cell(words: str, colour: str) -> str:
            return f'<td style="color: {colour}; padding: 2px 10px 2px 0">{html.escape(words)}</td>'

        heads = ("", compared.first.name, compared.second.name)
        lines = ["<tr>" + "".join(cell(head, tokens.mute) for head in heads) + "</tr>"]
        for name, first, second in (*compared.metrics, *compared.options):
            shown = cell(field_words(name), tokens.mute) + cell(first, tokens.ink) + cell(second, tokens.ink)
            lines.append(f"<tr>{shown}</tr>")
        return f'<table width="100%" cellspacing="0">{"".join(lines)}</table>'

    @Slot(object)
    def on_restyled(self, tokens: Tokens) -> None:
        if self.compared is not None and not self.isHidden():
            self.text.show_html(self._html(self.compared, tokens))
