"""The benchmark of the device in use: the button that starts it, progress, the figures, and the text for an issue."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QGridLayout

from app.state.application import Application
from app.values.benchmark import (
    BenchmarkEnded,
    BenchmarkProgress,
    benchmark_text,
    left_out_lines,
    limit_words,
    speed_rows,
)
from app.values.events import Failure
from app.values.words import counted, device_words, duration
from app.window.parts import Card, PlainButton, ProgressLine, label, set_tone
from app.window.settings.benchmark_table import BenchmarkView

TABLE_HEIGHT = 300
OFFER = (
    "Measures for about five minutes how fast every kernel is on {}, and how fast models learn and write there. "
    "Nothing is sent: afterwards, “Copy as text” gives you a text for a report, with no private data in it."
)


class BenchmarkCard(Card):
    def __init__(self, application: Application) -> None:
        super().__init__("Benchmark", spacing=10)
        self._engine, self._training = application.engine, application.training
        self.copy_button = PlainButton("Copy as text", "Device, versions and figures, to paste into an issue")
        self.copy_button.clicked.connect(self.on_copy_clicked)
        self.button = PlainButton("Run the benchmark", "Takes about five minutes, less on a fast device")
        self.button.clicked.connect(self.on_clicked)
        self.heading.row.addWidget(self.copy_button)
        self.heading.row.addWidget(self.button)
        self.progress = ProgressLine("Progress of the benchmark")
        self.progress.cancelled.connect(self._engine.cancel)
        self.words = label("", "text", wrap=True)
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(24)
        self._grid.setVerticalSpacing(4)
        self._grid.setColumnStretch(3, 1)
        self.table = BenchmarkView()
        self.table.setFixedHeight(TABLE_HEIGHT)
        self.column.addWidget(self.progress)
        self.column.addWidget(self.words)
        self.column.addLayout(self._grid)
        self.column.addWidget(self.table)
        self.left_out = label("", "label", wrap=True)
        self.column.addWidget(self.left_out)
        self._engine.state_changed.connect(self.on_state_changed)
        self._engine.benchmark_progressed.connect(self.on_progressed)
        self._engine.benchmark_ended.connect(self.on_ended)
        self._engine.failed.connect(self.on_failed)
        self._training.changed.connect(self.on_state_changed)
        self._show_last()
        self.on_state_changed()

    # ---- what the user does

    @Slot()
    def on_clicked(self) -> None:
        self._engine.measure()

    @Slot()
    def on_copy_clicked(self) -> None:
        QGuiApplication.clipboard().setText(benchmark_text(self._engine.benchmark.result))
        self._say("✓ Copied.", "good")

    # ---- what the controller says

    @Slot()
    def on_state_changed(self) -> None:
        phase = self._engine.phase
        self.button.setEnabled(phase == "ready" and not self._training.active)
        if phase == "benchmarking" and self.progress.isHidden():
            self._show_result(None)
            self._say("")
            self.progress.show_progress(0, 0, f"Opening {device_words(self._engine.in_use.name)}…")
        if phase not in ("benchmarking", "cancelling"):
            self.progress.put_away()
            if self._engine.benchmark is None and self._engine.in_use is not None:
                self._say(OFFER.format(device_words(self._engine.in_use.name)))
        self.copy_button.setVisible(self.progress.isHidden() and self._has_result())

    @Slot(object)
    def on_progressed(self, event: BenchmarkProgress) -> None:
        elapsed = duration(event.seconds)
        self.progress.show_progress(event.done, event.total, f"{elapsed}  {event.what}")

    @Slot(object)
    def on_ended(self, _event: BenchmarkEnded) -> None:
        self._show_last()

    @Slot(object)
    def on_failed(self, _failure: Failure) -> None:
        self._show_last()

    # ---- what is shown

    def _has_result(self) -> bool:
        return self._engine.benchmark is not None and self._engine.benchmark.result is not None

    def _show_last(self) -> None:
        """The last benchmark, or that there was none."""
        last = self._engine.benchmark
        if last is None:
            self._show_result(None)
            return
        if last.result is None:
            self._show_result(None)
            self._say("Cancelled before anything was measured.", "warn")
            return
        self._show_result(last.result)
        measured = f"{counted(len(last.result.kernels), 'kernel size')} on {device_words(last.device)} in " + duration(
            last.result.seconds
        )
        if last.cancelled:
            self._say(f"Cancelled after {measured}.", "warn")
        else:
            self._say(f"✓ Measured {measured}.", "good")

    def _show_result(self, result) -> None:
        while self._grid.count():
            old = self._grid.takeAt(0).widget()
            old.hide()
            old.deleteLater()
        self.table.setVisible(result is not None and bool(result.kernels))
        self.table.show_result(result)
        left_out = left_out_lines(result) if result is not None else []
        self.left_out.setText("\n".join(left_out))
        self.left_out.setVisible(bool(left_out))
        if result is None:
            return
        rows = [("At most", limit_words(result.peaks), limit_words(result.cpu_peaks))]
        rows += [(what, f"{device} tokens/s", f"{cpu} tokens/s") for what, device, cpu in speed_rows(result)]
        on_card = result.machine.kind != "cpu"
        headings = ("", result.machine.name, "CPU")
        for i, row in enumerate([headings, *rows] if on_card else rows):
            for j, words in enumerate(row if on_card else row[:2]):
                self._grid.addWidget(label(words, "label" if j == 0 or row is headings else "body"), i, j)

    def _say(self, words: str, tone: str = "") -> None:
        self.words.setText(words)
        self.words.setVisible(bool(words))
        set_tone(self.words, tone)
