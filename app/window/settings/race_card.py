"""The race: the same small training steps on every device, timed, so that the fastest is used and one sees why."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QGridLayout, QProgressBar

from app.state.application import Application
from app.values.engine import RaceEnded, RaceLine
from app.window.parts import Card, ElidedLabel, PlainButton, label, set_tone


class RaceCard(Card):
    """A line for each device, the fastest first, with a bar for its speed."""

    def __init__(self, application: Application) -> None:
        super().__init__("Speed", spacing=10)
        self._engine = application.engine
        self._training = application.training
        self._lines: list[RaceLine] = []
        self.button = PlainButton(
            "Race the devices",
            "Times a few training steps on each; takes some seconds. Software adapters are slow and are left out.",
        )
        self.button.clicked.connect(self.on_clicked)
        self.cancel_button = PlainButton("Cancel", "Stops the race after the current device")
        self.cancel_button.clicked.connect(self._engine.cancel)
        self.heading.row.addWidget(self.cancel_button)
        self.heading.row.addWidget(self.button)
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(16)
        self._grid.setVerticalSpacing(8)
        self._grid.setColumnStretch(1, 1)
        self.column.addLayout(self._grid)
        self.words = label("", "text", wrap=True)
        self.column.addWidget(self.words)
        self._engine.state_changed.connect(self.on_state_changed)
        self._engine.race_started.connect(self.on_race_started)
        self._engine.race_progressed.connect(self.on_race_line)
        self._engine.race_ended.connect(self.on_race_ended)
        self._training.changed.connect(self.on_state_changed)
        self._show(list(self._engine.race_lines))
        self.on_state_changed()

    @Slot()
    def on_clicked(self) -> None:
        self._engine.race()

    @Slot()
    def on_state_changed(self) -> None:
        racing = self._engine.phase == "racing"
        self.button.setVisible(not racing)
        self.button.setEnabled(self._engine.phase == "ready" and not self._training.active)
        self.cancel_button.setVisible(racing)
        if not racing and not self._lines:
            self._say("Not measured yet. Until then, a graphics card is preferred to the processor.")

    @Slot()
    def on_race_started(self) -> None:
        self._show([])
        self._say("Racing…")

    @Slot(object)
    def on_race_line(self, line: RaceLine) -> None:
        self._show([*self._lines, line])

    @Slot(object)
    def on_race_ended(self, ended: RaceEnded) -> None:
        self._show(list(ended.lines))
        if ended.cancelled:
            self._say("Cancelled.")
        elif ended.fastest:
            winner = next(line for line in ended.lines if line.device == ended.fastest)
            rank = "was the only device in the race" if len(ended.lines) == 1 else "is the fastest"
            self._say(f"✓ {winner.description} {rank}; “Automatic” chooses it.", "good")
        else:
            self._say("✕ No device could run the steps.", "bad")

    def _show(self, lines: list[RaceLine]) -> None:
        self._lines = lines
        while self._grid.count():
            old = self._grid.takeAt(0).widget()
            old.hide()
            old.deleteLater()
        fastest = max((line.tokens_per_second for line in lines), default=0.0)
        for i, line in enumerate(lines):
            name = ElidedLabel(f"{line.device}  {line.description}", "body")
            name.setFixedWidth(300)
            self._grid.addWidget(name, i, 0)
            if line.problem:
                words = label(f"✕ {line.problem}", "label", "bad", wrap=True)
                self._grid.addWidget(words, i, 1, 1, 2)
                continue
            bar = QProgressBar()
            bar.setTextVisible(False)
            bar.setRange(0, 1000)
            bar.setValue(round(1000 * line.tokens_per_second / fastest) if fastest else 0)
            speed = f"{line.tokens_per_second:,.0f} tokens/s"
            bar.setAccessibleName(f"{line.device}: {speed}")
            self._grid.addWidget(bar, i, 1)
            self._grid.addWidget(label(speed, "body"), i, 2)

    def _say(self, words: str, tone: str = "") -> None:
        self.words.setText(words)
        set_tone(self.words, tone)
