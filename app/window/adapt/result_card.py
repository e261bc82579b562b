"""A finished run: held-out scores before and after it, and what to do with the result."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from app.values.training import FinishedView, ScoreView
from app.values.words import counted
from app.window.adapt.words import change, clock
from app.window.parts import NOTHING, Card, PlainButton, PrimaryButton, label, set_tone, tip

SAME = 0.0015  # a difference in held-out loss that is not worth mentioning
LARGEST_LOSS = 50.0  # whose perplexity can be shown
PERPLEXITY = "Perplexity: {} before, {} after. That many equally likely next tokens would be as uncertain."
RUN_LOSS = "The run itself measured {:.3f} before and {:.3f} after, on the files that decided which step to keep."
WITH_MEMORY = "With the repository's memory: {} before, {} after."
INTERVALS = "In parentheses: the 95 % confidence interval."
UNDECIDED = "A change this small may be chance."
IN_USE = " It is in use now."

Interval = tuple[float, float] | None  # 95 %; None where it is not known


@dataclass(frozen=True)
class Measure:
    """One column of the card."""

    field: str
    name: str
    help: str
    lower_is_better: bool
    is_share: bool

    def words(self, value: float | None, interval: Interval = None) -> str:
        """A value with its interval, such as "26.0 % (19–33)"; a dash where nothing was measured."""
        if value is None:
            return NOTHING
        found = f"{value * 100:.1f} %" if self.is_share else f"{value:.3f}"
        between = self.interval_words(interval)
        return f"{found} ({between})" if between else found

    def interval_words(self, interval: Interval) -> str:
        """19–33 for a share, 2.20–2.69 otherwise: no finer than it is known; "" where it is not."""
        if interval is None or not all(map(math.isfinite, interval)):
            return ""
        scale, digits = (100, 0 if interval[1] >= 0.05 else 1) if self.is_share else (1, 2)
        return "–".join(f"{number * scale:.{digits}f}" for number in interval)

    def change(self, before: float | None, after: float | None) -> tuple[str, str]:
        """How it changed, and the tone of that: shares in points, others relative to before."""
        if before is None or after is None:
            return "", ""
        if self.is_share:
            points = (after - before) * 100
            words = f"{points:+.1f} points".replace("-", "−") if abs(points) >= 0.05 else "no change"
        else:
            words = change(before, after)
        if words in ("", "no change"):
            return words, ""
        return words, "good" if (after < before) == self.lower_is_better else "warn"


MEASURES = (
    Measure(
        "loss", "Held-out loss", "How surprised the model is by code it has not seen. Lower is better.", True, False
    ),
    Measure("bits_per_byte", "Bits per byte", "The loss per byte of text: comparable across tokenizers.", True, False),
    Measure("next_line_exact", "Next line correct", "Lines that it completes exactly as written.", False, True),
    Measure("keystrokes_saved", "Keystrokes saved", "Typing that accepting its suggestions would save.", False, True),
)


class MeasureColumn(QWidget):
    """Name; the value after, large, with its change; then each value with its interval, small."""

    def __init__(self, measure: Measure) -> None:
        super().__init__()
        self.measure = measure
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(8)
        grid.setVerticalSpacing(1)
        self.after = label(NOTHING, "figure")
        self.changed = label("", "unit")
        self.interval, self.before, self.memory = (label("", "label") for _ in range(3))
        grid.addWidget(label(measure.name, "label"), 0, 0, 1, 2)
        grid.addWidget(self.after, 1, 0)
        grid.addWidget(self.changed, 1, 1, Qt.AlignmentFlag.AlignBottom)  # on one line with the number
        for row, line in enumerate((self.interval, self.before, self.memory), start=2):
            grid.addWidget(line, row, 0, 1, 2)
        grid.setColumnStretch(1, 1)
        self.setMinimumWidth(150)
        self.interval.hide()
        self.memory.hide()
        tip(self, measure.help)

    def say(
        self,
        values: Sequence[float | None],
        intervals: Sequence[Interval] = (None, None),
        with_memory: str = "",
        pending: bool = False,
        undecided: bool = False,
        more: Sequence[str] = (),
    ) -> None:
        """Before and after; None where nothing was measured, or not yet (`pending`).  `with_memory`: the value after
        with the memory, in words.  A change that may be chance (`undecided`) has no tone.  `more`: further lines of
        the tool tip."""
        measure, (before, after) = self.measure, values
        words, tone = measure.change(before, after)
        self.after.setText(measure.words(after))
        self.changed.setText(words)
        set_tone(self.changed, "" if undecided else tone)
        between = measure.interval_words(intervals[1])
        missing = "measuring…" if pending else "not measured"
        self.before.setText(f"before {measure.words(before, intervals[0])}" if before is not None else missing)
        for line, said in (
            (self.interval, f"95 % interval {between}{' %' * measure.is_share}" if between else ""),
            (self.memory, f"with memory {with_memory}" if with_memory else ""),
        ):
            line.setText(said)
            line.setVisible(bool(said))
        shown = INTERVALS if "(" in self.before.text() + self.memory.text() else ""
        tip(self, "\n".join(filter(None, (measure.help, *more, shown, UNDECIDED if undecided else ""))))
        parts = (f"{self.after.text()} {words}".strip(), self.interval.text(), self.before.text(), self.memory.text())
        self.setAccessibleName(f"{measure.name}: {', '.join(filter(None, parts))}")


class ResultCard(Card):
    """What a run made is in use at once; the button leads back to the model before, and from there to it again."""

    use_wanted = Signal()
    back_wanted = Signal()
    compare_wanted = Signal()
    discard_wanted = Signal()
    again_wanted = Signal()
    cancel_wanted = Signal()  # the scorecard that is being measured

    def __init__(self) -> None:
        super().__init__(margins=(16, 14, 16, 14), spacing=12)
        self._finished: FinishedView | None = None
        self.title = label("", "heading", wrap=True)
        self.words = label("", "label", wrap=True)
        self.use_button = PrimaryButton("Use it", "Use this model for completions")
        self.back_button = PlainButton("Go back")
        self.compare_button = PlainButton("Compare", "Let the base and the result complete the same code, side by side")
        self.discard_button = PlainButton("Discard", "Move the result to the trash")
        self.again_button = PlainButton("Adapt again", "Back to the options")
        for button, wanted in (
            (self.use_button, self.use_wanted),
            (self.back_button, self.back_wanted),
            (self.compare_button, self.compare_wanted),
            (self.discard_button, self.discard_wanted),
            (self.again_button, self.again_wanted),
        ):
            button.clicked.connect(wanted)
        said = QVBoxLayout()
        said.setSpacing(3)
        said.addWidget(self.title)
        said.addWidget(self.words)
        top = QHBoxLayout()
        top.setSpacing(10)
        top.addLayout(said, 1)
        for button in (
            *(self.again_button, self.discard_button, self.compare_button),
            *(self.back_button, self.use_button),
        ):
            top.addWidget(button)
        figures = QHBoxLayout()
        figures.setSpacing(20)
        self.columns = {measure.field: MeasureColumn(measure) for measure in MEASURES}
        for column in self.columns.values():
            figures.addWidget(column, 1)
        self.column.addLayout(top)
        self.column.addLayout(figures)
        self.scoring = label("", "label", wrap=True)
        self.cancel_button = PlainButton("Cancel", "Stop measuring and keep what has been measured so far")
        self.cancel_button.clicked.connect(self.cancel_wanted)
        below = QHBoxLayout()
        below.setSpacing(10)
        below.addWidget(self.scoring, 1)
        below.addWidget(self.cancel_button)
        self.column.addLayout(below)
        self.scoring.hide()
        self.cancel_button.hide()

    def show_result(self, finished: FinishedView, in_use: bool, model_before: str = "") -> None:
        """What came of the run; `in_use`: completions come from it.  `model_before`: the name of the model to go back
        to; "" where there is none."""
        self._finished = finished
        kept = bool(finished.checkpoint)
        self.title.setText(self._title(finished))
        self.words.setText(self._sentence(finished) + (IN_USE if in_use and kept else ""))
        self.set_kind("warn" if finished.rolled_back else "accent" if kept else "plain")
        self.use_button.setVisible(kept and not in_use)
        self.back_button.setVisible(kept and in_use and bool(model_before))
        tip(self.back_button, f"Use {model_before} for completions again")
        self.compare_button.setVisible(kept)
        self.discard_button.setVisible(kept)

    def show_scores(
        self, before: ScoreView | None, after: ScoreView | None, pending: bool = False, words: str = ""
    ) -> None:
        """The scorecard, measured after the run has ended.  Until then the run's own losses are shown: those of the
        files that decided which step to keep.  `words`: its progress, or why there is none."""
        own = (self._finished.held_out_before, self._finished.held_out_after)
        scores = (before, after)
        for name, column in self.columns.items():
            values = [getattr(score, name) if score is not None else None for score in scores]
            intervals = [score.ranges.get(name) if score is not None else None for score in scores]
            more: list[str] = []
            if name == "loss":
                is_scored = all(value is not None and math.isfinite(value) for value in values)
                if not is_scored:
                    values, intervals = list(own), [None, None]
                more = [PERPLEXITY.format(*(f"{math.exp(min(loss, LARGEST_LOSS)):,.1f}" for loss in values))]
                more += [RUN_LOSS.format(*own)] if is_scored else []
            remembering = [_with_memory(score, name, column.measure) for score in scores]
            if all(remembering):
                more.append(WITH_MEMORY.format(*remembering))
            undecided = after is not None and name in after.undecided
            column.say(values, intervals, remembering[1] if all(remembering) else "", pending, undecided, more)
            column.setVisible(name == "loss" or bool(self._finished.checkpoint))
        words = words or " ".join(after.notes if after is not None else ())
        self.scoring.setText(words)
        self.scoring.setVisible(bool(words))
        self.cancel_button.setVisible(pending)

    @staticmethod
    def _title(finished: FinishedView) -> str:
        if finished.rolled_back:
            return "No improvement: the starting weights were restored"
        if not finished.checkpoint:
            return "The run ended before anything was learned"
        if finished.changed_after is not None and 0 <= finished.held_out_before - finished.held_out_after < SAME:
            return f"{finished.checkpoint_name} has learned the changes and is as good as before on other code"
        if finished.held_out_after < finished.held_out_before:
            return f"{finished.checkpoint_name} is better on code it has not seen"
        return f"{finished.checkpoint_name} was saved"

    @staticmethod
    def _sentence(finished: FinishedView) -> str:
        took = f"{counted(finished.step, 'step')} in {clock(finished.seconds)}"
        reason = f"; {finished.reason}" if finished.reason else ""
        if finished.rolled_back:
            return f"{took}{reason}. Try more code, a lower learning rate or a lighter mode."
        best = f" Best at step {finished.best_step:,}, which was kept." if finished.checkpoint else ""
        changed = ""
        if finished.changed_before is not None and finished.changed_after is not None:
            changed = (
                f" On the changed files: {finished.changed_before:.3f} before, {finished.changed_after:.3f} after."
            )
        return f"{took}{reason}.{best}{changed}"


def _with_memory(score: ScoreView | None, name: str, measure: Measure) -> str:
    """A value that was measured with the memory, and its interval; "" where it was not."""
    found = score.with_memory if score is not None else None
    value = getattr(found, name, None)
    return "" if value is None else measure.words(value, found.ranges.get(name))
