"""Two models at the same cursor: what each would write, and where they differ.

The model that writes the ghost is not asked twice: unless a blend is set, its pane shows the ghost's own text.
"""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app.state.application import Application
from app.values.completion import IN_TRAINING, CompletionView, ModelChoice
from app.window.complete.arrangement import MODEL, SECOND, UNRELATED, Arrangement, arrange, counterpart
from app.window.complete.channel import ASKING, DONE, FAILED, NONE, Channel
from app.window.complete.differences import differing, first_difference
from app.window.complete.suggester import CursorText, Suggester
from app.window.complete.suggestion_view import SuggestionView
from app.window.parts import GAP, Card, Choice, label, set_tone, tip

NO_OTHER = ("", "No comparison")
CHOOSE = "Choose a model to see what it would write at the same cursor."
ONLY_ONE = "Adapt this model to your code; then both write here, one below the other."
ROOM = 60  # pixels that a chooser needs at least


class SidePane(Card):
    """One of the two: a chooser, what it is to the other, its text, and a line about that."""

    chosen = Signal(str)

    def __init__(self, place: str) -> None:
        super().__init__(margins=(16, 10, 12, 10), spacing=6)
        row = QHBoxLayout()
        row.setSpacing(8)
        self.title = label("", "heading")
        self.choice = Choice(name=f"{place} model")
        self.choice.setSizeAdjustPolicy(Choice.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.choice.setMinimumWidth(ROOM)
        self.badge = label("", "badge")
        row.addWidget(self.title)
        row.addWidget(self.choice, 1)
        row.addWidget(self.badge, 0, Qt.AlignmentFlag.AlignVCenter)
        self.view = SuggestionView(f"Suggestion of the {place.lower()} model")
        self.words = label("", "label", wrap=True)
        self.column.addLayout(row)
        self.column.addWidget(self.view)
        self.column.addWidget(self.words)
        self.choice.chosen.connect(self.chosen)
        self._choices: tuple = ()

    def show_choices(self, choices: tuple[tuple[str, str], ...], chosen: str, help_words: str) -> None:
        """What can be chosen here, and what is."""
        if choices != self._choices:
            self._choices = choices
            self.choice.set_choices(choices)
        self.choice.set_value(chosen)
        tip(self.choice, help_words or "The model of this side")

    def say(self, words: str, tone: str = "") -> None:
        self.words.setText(words)
        self.words.setVisible(bool(words))
        set_tone(self.words, tone)


class SideBySide(QWidget):
    """The base above, the adapted one below; or any two, in the order they were chosen."""

    arranged = Signal(object)  # Arrangement

    def __init__(self, application: Application, suggester: Suggester) -> None:
        super().__init__()
        self._application, self._completion, self._suggester = application, application.completion, suggester
        self.arrangement: Arrangement = UNRELATED
        self._here: CursorText | None = None
        self._declined = False  # the user wants no comparison
        self._is_choosing = False
        self._asked: tuple = ()
        self.upper, self.lower = SidePane("Upper"), SidePane("Lower")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(GAP)
        column.addWidget(self.upper)
        column.addWidget(self.lower)
        self.channels = {name: Channel(self._completion, name, self) for name in (MODEL, SECOND)}
        for channel in self.channels.values():
            channel.changed.connect(self.refresh_texts)
        self.upper.chosen.connect(self.on_upper_chosen)
        self.lower.chosen.connect(self.on_lower_chosen)
        self._completion.changed.connect(self.refresh)
        suggester.suggestion_changed.connect(self.on_suggestion)
        suggester.answered.connect(self.on_answered)
        suggester.settled.connect(self.on_settled)
        suggester.left.connect(self.on_left)
        self.refresh()

    # ---- choosing

    def offer(self) -> None:
        """Choose something to compare with, unless the user has said that there is to be none."""
        completion = self._completion
        busy = self._is_choosing or self._application.training.active
        if busy or completion.choice(completion.model) is None:
            return
        same = completion.second == completion.model  # the model was chosen elsewhere, in the header
        if same or not (completion.second or self._declined):
            other = counterpart(completion.model_choices, completion.model, self._application.training.base)
            completion.choose_second(other)

    @Slot(str)
    def on_upper_chosen(self, model: str) -> None:
        self._choose(self.arrangement.upper, model)

    @Slot(str)
    def on_lower_chosen(self, model: str) -> None:
        self._choose(self.arrangement.lower, model)

    def _choose(self, channel: str, model: str) -> None:
        """Choosing what the other side has lets the two change places."""
        completion = self._completion
        before = completion.model, completion.second
        self._is_choosing = True
        if channel == MODEL:
            completion.choose_model(model)
            if model == before[1]:
                completion.choose_second(before[0])
        else:
            self._declined = not model
            completion.choose_second(model)
            if model == before[0] and before[1]:
                completion.choose_model(before[1])
        self._is_choosing = False

    # ---- asking

    @Slot(object)
    def on_settled(self, here: CursorText) -> None:
        """The ghost is complete: now the others."""
        self._here = here
        self._ask()

    @Slot(str)
    def on_suggestion(self, text: str) -> None:
        here = self._suggester.here
        if here is not None and self._ghost_is_model():
            self.channels[MODEL].show(here, text, done=False)

    @Slot(object)
    def on_answered(self, view: CompletionView) -> None:
        here = self._suggester.here
        if here is not None and self._ghost_is_model():
            self.channels[MODEL].show(here, view.text, done=True)
            self.channels[MODEL].view = view

    @Slot()
    def on_left(self) -> None:
        self._here, self._asked = None, ()
        for channel in self.channels.values():
            channel.leave()

    def _ghost_is_model(self) -> bool:
        return not (self._completion.blend and self._completion.second) and self._suggester.enabled

    def _ask(self) -> None:
        completion, here = self._completion, self._here
        if here is None or not self.isVisible():
            return
        wanted = (here, completion.model, completion.second, completion.sampling, completion.stops)
        if wanted == self._asked:
            return
        self._asked = wanted
        if self.channels[MODEL].state != DONE or self.channels[MODEL].here != here or not self._ghost_is_model():
            self.channels[MODEL].ask(here)
        if completion.second:
            self.channels[SECOND].ask(here)

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._here = self._here or self._suggester.here
        self._ask()

    # ---- showing

    @Slot()
    def refresh(self) -> None:
        """Choices, titles and what the two are to each other."""
        completion, training = self._completion, self._application.training
        choices = completion.model_choices
        if not completion.second:
            self.channels[SECOND].clear()
        arrangement = arrange(choices, completion.model, completion.second, training.base, self.arrangement)
        moved = arrangement != self.arrangement
        self.arrangement = arrangement
        for pane, channel, title in (
            (self.upper, arrangement.upper, arrangement.titles[0]),
            (self.lower, arrangement.lower, arrangement.titles[1]),
        ):
            self._refresh_pane(pane, channel, title)
        if moved:
            self.arranged.emit(arrangement)
        if self._here is not None and self._suggester.here is not None:
            self._ask()
        self.refresh_texts()

    def _refresh_pane(self, pane: SidePane, channel: str, title: str) -> None:
        completion = self._completion
        entries = tuple((choice.id, choice.name) for choice in completion.model_choices)
        model = completion.model if channel == MODEL else completion.second
        chosen = completion.choice(model)
        pane.title.setText(title)
        pane.show_choices(entries if channel == MODEL else (NO_OTHER, *entries), model, _help(chosen))
        pane.badge.setText(self._badge(pane, chosen))
        pane.badge.setVisible(bool(pane.badge.text()))
        set_tone(pane.badge, "good" if pane is self.lower and self.arrangement.related else "")
        pane.set_kind("accent" if pane is self.lower and self.arrangement.related else "plain")
        pane.view.setVisible(chosen is not None)

    def _badge(self, pane: SidePane, chosen: ModelChoice | None) -> str:
        if chosen is None:
            return ""
        if chosen.id == IN_TRAINING:
            return "in training"
        if not self.arrangement.related:
            return ""
        return "adapted" if pane is self.lower else "base"

    @Slot()
    def refresh_texts(self) -> None:
        """The two texts with their marks."""
        upper, lower = (self.channels[name] for name in (self.arrangement.upper, self.arrangement.lower))
        both = upper.state == lower.state == DONE and not upper.is_stale and not lower.is_stale
        both = both and upper.here == lower.here
        marks = differing(upper.text, lower.text) if both else ([], [])
        line = first_difference(upper.text, lower.text) if both else 0
        for pane, channel, own in ((self.upper, upper, marks[0]), (self.lower, lower, marks[1])):
            pane.view.show_text(channel.here.line if channel.here else "", channel.text, own, channel.is_stale)
            words, tone = self._words(channel, both, line)
            pane.say("" if both and pane is self.upper else words, tone)  # what is said of both is said once

    def _words(self, channel: Channel, both: bool, line: int) -> tuple[str, str]:
        if channel.name == SECOND and not self._completion.second:
            return (ONLY_ONE if len(self._completion.model_choices) < 2 else CHOOSE), ""
        if channel.state == FAILED:
            return f"✕ {channel.failure.cause} {channel.failure.remedy}".strip(), "bad"
        if channel.is_stale:
            return "For the cursor before", ""
        if channel.state == NONE:
            return "Waits for the cursor to rest", ""
        if channel.state == ASKING:
            return "Writing…", ""
        if not channel.text.strip():
            return "Nothing to add here", ""
        if not both:
            return "", ""
        return ("Both say the same", "") if not line else (f"Differs from line {line}, underlined", "")


def _help(choice: ModelChoice | None) -> str:
    return f"{choice.name}: {choice.words}" if choice is not None and choice.words else ""
