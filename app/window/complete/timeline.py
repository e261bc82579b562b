"""The timeline: how the suggestion at this cursor changed over a run, checkpoint by checkpoint."""

from __future__ import annotations

from PySide6.QtCore import QTimer, Slot
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.state.application import Application
from app.values.completion import STARTER, TimelinePoint
from app.window.complete.channel import ASKING, DONE, FAILED, Channel, CursorText
from app.window.complete.differences import differing, first_difference
from app.window.complete.suggester import Suggester
from app.window.complete.suggestion_view import SuggestionView
from app.window.complete.timeline_slider import TimelineSlider
from app.window.parts import Choice, SectionTitle, label, set_tone, tip

CHANNEL = "timeline"
QUIET = 120  # milliseconds that the slider must rest before its checkpoint is asked
MOST_KEPT = 64  # answers at one cursor


class Timeline(QWidget):
    """Idle until its slider is moved; then it follows the cursor."""

    def __init__(self, application: Application, suggester: Suggester) -> None:
        super().__init__()
        self._application, self._completion, self._suggester = application, application.completion, suggester
        self.run = ""
        self._picked = False  # the user chose the run; until then it is that of the model in use
        self.points: tuple[TimelinePoint, ...] = ()
        self._is_used = False
        self._answers: dict[tuple[CursorText, str], str] = {}
        self._before = ""  # the last text shown, to mark what changed
        self._asked = ""  # the checkpoint that the channel was asked for
        self._build()
        self.channel = Channel(self._completion, CHANNEL, self)
        self._quiet = QTimer(self)
        self._quiet.setSingleShot(True)
        self._quiet.setInterval(QUIET)
        self._quiet.timeout.connect(self.on_quiet)
        self.channel.changed.connect(self.on_answer)
        self.slider.valueChanged.connect(self.on_slider_moved)
        self.runs.chosen.connect(self.on_run_chosen)
        self._completion.changed.connect(self.refresh)
        self._completion.timeline_listed.connect(self.on_listed)
        suggester.settled.connect(self.on_settled)
        suggester.left.connect(self.on_left)
        self.refresh()

    def _build(self) -> None:
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        self.heading = SectionTitle("Timeline")
        self.runs = Choice(name="Run of the timeline")
        self.slider = TimelineSlider()
        self.slider.setAccessibleName("Checkpoint of the run")
        tip(self.slider, "Step through the checkpoints of a run; the curve is their held-out loss")
        self.words = label("", "label", wrap=True)
        self.view = SuggestionView("Suggestion of this checkpoint")
        self.view.hide()
        for widget in (self.heading, self.runs, self.slider, self.words, self.view):
            column.addWidget(widget)

    @property
    def point(self) -> TimelinePoint | None:
        """The checkpoint at the slider."""
        place = self.slider.value()
        return self.points[place] if place < len(self.points) else None

    # ---- which run

    @Slot()
    def refresh(self) -> None:
        """List the runs; the model's own is selected unless the user chose another."""
        runs = self._runs()
        if self.run not in runs or not self._picked:
            self.run, self._picked = next(iter(runs), ""), False
        self.runs.set_choices(tuple(runs.items()))
        self.runs.set_value(self.run)
        self.runs.setVisible(len(runs) > 1)
        self._show_points()

    def _runs(self) -> dict[str, str]:
        """Names by run, that of the model in use first; only runs with several checkpoints."""
        completion = self._completion
        names = {choice.run: choice.name for choice in reversed(completion.model_choices) if choice.run}
        if self._application.training.active and self._application.training.run:
            names.setdefault(self._application.training.run, "Current run")
        chosen = [completion.choice(model) for model in (completion.model, completion.second)]
        own = [choice.run for choice in chosen if choice is not None and choice.run in names]
        newest_first = [*own, *reversed(names)]
        return {run: names[run] for run in dict.fromkeys(newest_first) if len(self._points_of(run)) > 1}

    def _points_of(self, run: str) -> tuple[TimelinePoint, ...]:
        """What a run started from, then its checkpoints."""
        points = self._completion.timeline(run)
        if not points:
            return ()
        row = next((row for row in self._application.checkpoints.rows if row.id == points[-1].id), None)
        base = row.base or next(iter(row.parents), "") if row is not None else ""
        known = self._completion.choice(base) or self._completion.choice(STARTER)
        if row is None or known is None or not base:
            return points
        return (TimelinePoint(known.id, known.name, 0, row.held_out_before, False), *points)

    @Slot(str, object)
    def on_listed(self, _run: str, _points: object) -> None:
        self.refresh()

    @Slot(str)
    def on_run_chosen(self, run: str) -> None:
        self.run, self._picked = run, True
        self._show_points()

    def _show_points(self) -> None:
        points = self._points_of(self.run) if self.run else ()
        if points == self.points and points:
            return
        at_end = self.slider.value() >= len(self.points) - 1
        self.points = points
        self.slider.show_losses([point.held_out_loss for point in points])
        if at_end:
            blocked = self.slider.blockSignals(True)
            self.slider.setValue(len(points) - 1)
            self.slider.blockSignals(blocked)
        self.slider.setVisible(len(points) > 1)
        self.view.setVisible(self._is_used and len(points) > 1)
        self._say()

    # ---- asking

    @Slot(int)
    def on_slider_moved(self, _place: int) -> None:
        self._is_used = True
        self.view.show()
        self._say()
        self._quiet.start()

    @Slot()
    def on_quiet(self) -> None:
        """Ask the checkpoint at the slider, unless it has already answered at this cursor."""
        here, point = self._suggester.here, self.point
        if here is None or point is None or not self._is_used or not self.isVisible():
            return
        if not self.channel.is_stale and self.channel.text:
            self._before = self.channel.text
        self._asked = point.id
        known = self._answers.get((here, point.id))
        if known is not None:
            self.channel.show(here, known, done=True)
        else:
            self.channel.ask(here, point.id)
        self._say()

    @Slot(object)
    def on_settled(self, _here: CursorText) -> None:
        if self._is_used:
            self._before = ""
            self._quiet.start()

    @Slot()
    def on_left(self) -> None:
        self._quiet.stop()
        self._answers.clear()
        self._before = ""
        self.channel.leave()

    @Slot()
    def on_answer(self) -> None:
        channel = self.channel
        if channel.state == DONE and not channel.is_stale and len(self._answers) < MOST_KEPT:
            self._answers[channel.here, self._asked] = channel.text
        marks = differing(self._before, channel.text)[1] if self._before and channel.state == DONE else ()
        line = channel.here.line if channel.here is not None else ""
        self.view.show_text(line, channel.text, marks, channel.is_stale)
        self._say()

    def _say(self) -> None:
        point = self.point
        set_tone(self.words, "")
        if point is None or len(self.points) < 2:
            self.heading.say("")
            self.words.setText("Appears once a run has saved several checkpoints")
            return
        self.heading.say(point_words(point, is_first=point is self.points[0]))
        if self.channel.state == FAILED:
            self.words.setText(f"✕ {self.channel.failure.cause}")
            set_tone(self.words, "bad")
        else:
            self.words.setText(self._change_words())

    def _change_words(self) -> str:
        channel = self.channel
        if not self._is_used:
            return "Move the slider to see what each checkpoint would write here"
        if channel.state == ASKING:
            return "Writing…"
        if channel.is_stale or channel.here is None:
            return "Waiting for the cursor to rest"
        if not channel.text.strip():
            return "No suggestion"
        if self._before and channel.state == DONE:
            line = first_difference(self._before, channel.text)
            return f"Changed from line {line} on (underlined)" if line else "No change"
        return f"What {self.point.name} would write"


def point_words(point: TimelinePoint, is_first: bool = False) -> str:
    """step 250 · held-out loss 1.310"""
    where = "before" if is_first and point.step == 0 else "result" if point.final else f"step {point.step:,}"
    if point.final and point.step:
        where += f", step {point.step:,}"
    loss = f" · held-out loss {point.held_out_loss:.3f}" if point.held_out_loss is not None else ""
    return where + loss
