"""Text that can be selected and copied, as tall as its content, in the colours of the theme.

No link is followed and nothing is loaded.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from typing import Any

from PySide6.QtCore import Qt, QUrl, Slot
from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QFrame, QTextBrowser, QToolButton

from app.theme import Theme, Tokens
from app.theme.icons import icon
from app.values.checkpoints import CheckpointDetails
from app.values.words import nbytes
from app.window.checkpoints.words import exact_when, field_words, kind_words
from app.window.parts import Card, LinkButton

MOST_CHARACTERS = 200  # of one value


class CardText(QTextBrowser):
    """Rich text without a frame."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.setAccessibleName(name)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setOpenLinks(False)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.viewport().setAutoFillBackground(False)
        self.document().setDocumentMargin(0)

    def show_html(self, content: str) -> None:
        self.setHtml(content)
        self._fit()

    def loadResource(self, kind: int, name: QUrl) -> Any:
        return None  # nothing is ever loaded

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def wheelEvent(self, event) -> None:
        event.ignore()  # the page scrolls, not the text

    def _fit(self) -> None:
        self.document().setTextWidth(max(1, self.viewport().width()))
        self.setFixedHeight(int(self.document().size().height()) + 2)


class ModelCard(Card):
    """The model card of one checkpoint: scores, data, options, files; folded at first."""

    def __init__(self) -> None:
        super().__init__(margins=(16, 8, 16, 8), spacing=6)
        self.setAccessibleName("Model card")
        self.details: CheckpointDetails | None = None
        self.fold = QToolButton()
        self.fold.setText("Details, options and files")
        self.fold.setProperty("role", "fold")
        self.fold.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.fold.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.fold.setCheckable(True)
        self.fold.setAccessibleName("Show details, options and files")
        self.fold.toggled.connect(self.on_fold_toggled)
        self.copy_button = LinkButton("Copy model card", "As Markdown, the way it is included in an export")
        self.copy_button.clicked.connect(self.on_copy_clicked)
        self.text = CardText("Model card")
        self.column.addWidget(self.fold, 0, Qt.AlignmentFlag.AlignLeft)
        self.column.addWidget(self.text)
        self.column.addWidget(self.copy_button, 0, Qt.AlignmentFlag.AlignLeft)
        self.text.hide()
        self.copy_button.hide()
        theme = Theme.current()
        theme.restyled.connect(self.on_restyled)
        self.on_restyled(theme.tokens)

    def show_details(self, details: CheckpointDetails | None) -> None:
        """None while they are being read."""
        self.details = details
        self.setEnabled(details is not None)
        self._fill(Theme.current().tokens)

    def _fill(self, tokens: Tokens) -> None:
        if self.details is not None and self.fold.isChecked():
            self.text.show_html(card_html(self.details, tokens))

    @Slot(bool)
    def on_fold_toggled(self, is_open: bool) -> None:
        self.text.setVisible(is_open)
        self.copy_button.setVisible(is_open)
        self.on_restyled(Theme.current().tokens)

    @Slot()
    def on_copy_clicked(self) -> None:
        if self.details is not None:
            QGuiApplication.clipboard().setText(self.details.card)

    @Slot(object)
    def on_restyled(self, tokens: Tokens) -> None:
        self.fold.setIcon(icon("chevron_down" if self.fold.isChecked() else "chevron_right", tokens.mute, 14))
        self._fill(tokens)


def card_html(details: CheckpointDetails, tokens: Tokens) -> str:
    """One table for everything, so that all values line up."""
    row = details.row
    facts = [
        ("ID", row.id),
        ("created", exact_when(row.created)),
        ("type", f"{kind_words(row.kind)}, {row.precision}"),
        ("weights", f"{details.parameters:,}"),
        ("run", row.run),
        ("parents", ", ".join(id[:8] for id in row.parents)),
        ("folder", details.folder),
    ]
    files = [(name, nbytes(size)) for name, size in details.files]
    parts = [
        _section("", facts, tokens),
        _section("Scores", _flat(dict(sorted(details.metrics.items()))), tokens),
        _section("Data", _flat(details.data), tokens),
        _section("Options", _flat(details.options), tokens),
        _section("Files", files, tokens),
    ]
    return f'<table cellspacing="0" style="color: {tokens.ink}">{"".join(parts)}</table>'


def _flat(content: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, str]]:
    for key, value in content.items():
        name = f"{prefix}{field_words(key)}"
        if isinstance(value, Mapping):
            yield from _flat(value, f"{name}, ")
        elif isinstance(value, int) and not isinstance(value, bool):
            yield name, f"{value:,}"
        else:
            yield name, f"{value:.6g}" if isinstance(value, float) else str(value)


def _section(title: str, rows: Iterable[tuple[str, str]], tokens: Tokens) -> str:
    lines = [
        f'<tr><td style="color: {tokens.mute}; padding: 2px 14px 2px 0">{html.escape(name)}</td>'
        f'<td style="padding: 2px 0">{html.escape(_cut(value))}</td></tr>'
        for name, value in rows
        if value
    ]
    if not lines:
        return ""
    style = "padding: 10px 0 2px 0; font-weight: 600"  # the boldest weight of our fonts
    heading = f'<tr><td colspan="2" style="{style}">{html.escape(title)}</td></tr>' if title else ""
    return heading + "".join(lines)


def _cut(value: str) -> str:
    return value if len(value) <= MOST_CHARACTERS else value[: MOST_CHARACTERS - 1] + "…"
