"""Two models at the same cursor, each alone and with the memory: what they would write, and where they differ.

The model that writes the ghost text is not asked twice: unless a blend is set, its pane shows the ghost text itself.
"""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QWidget

from app.state.application import Application
from app.values.completion import IN_TRAINING, MODEL, MODEL_MEMORY, SECOND, SECOND_MEMORY, CompletionView, ModelChoice
from app.window.complete.arrangement import UNRELATED, Arrangement, arrange, counterpart
from app.window.complete.channel import ASKING, DONE, FAILED, NONE, Channel, CursorText
from app.window.complete.differences import differing, first_difference
from app.window.complete.side_pane import Answer, SidePane
from app.window.complete.suggester import Suggester
from app.window.parts import GAP, set_tone

NO_OTHER = ("", "No comparison")
CHOOSE = "Choose a model to see what it would write at the same cursor."
ONLY_ONE = "Adapt this model to your code to compare the two here."
WITH_MEMORY = {MODEL: MODEL_MEMORY, SECOND: SECOND_MEMORY}  # channels


class SideBySide(QWidget):
    """The base on the left, the adapted model on the right; or any two, in the order they were chosen."""

    arranged = Signal(object)  # Arrangement

    def __init__(self, application: Application, suggester: Suggester) -> None:
        super().__init__()
        self._application, self._completion, self._suggester = application, application.completion, suggester
        self.arrangement: Arrangement = UNRELATED
        self._here: CursorText | None = None
        self._declined = False  # the user wants no comparison
        self._is_choosing = False
        self._asked: dict[str, tuple] = {}  # by channel: cursor, model, sampling and stops
        self._memory = application.memory
        self.before, self.after = SidePane("Left"), SidePane("Right")
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(GAP)
        row.addWidget(self.before, 1)
        row.addWidget(self.after, 1)
        names = (MODEL, MODEL_MEMORY, SECOND, SECOND_MEMORY)
        self.channels = {name: Channel(self._completion, name, self) for name in names}
        for channel in self.channels.values():
            channel.changed.connect(self.refresh_texts)
        self.before.chosen.connect(self.on_before_chosen)
        self.after.chosen.connect(self.on_after_chosen)
        self._completion.changed.connect(self.refresh)
        self._memory.memory_changed.connect(self.refresh)
        suggester.suggestion_changed.connect(self.on_suggestion)
        suggester.answered.connect(self.on_answered)
        suggester.settled.connect(self.on_settled)
        suggester.left.connect(self.on_left)
        self.refresh()

    # ---- choosing

    def offer(self) -> None:
        """Choose a second model to compare with, unless the user has declined."""
        completion = self._completion
        busy = self._is_choosing or self._application.training.active
        if busy or completion.choice(completion.model) is None:
            return
        same = completion.second == completion.model  # the model was chosen elsewhere, in the header
        if same or not (completion.second or self._declined):
            other = counterpart(completion.model_choices, completion.model, self._application.training.base)
            completion.choose_second(other)

    @Slot(str)
    def on_before_chosen(self, model: str) -> None:
        self._choose(self.arrangement.before, model)

    @Slot(str)
    def on_after_chosen(self, model: str) -> None:
        self._choose(self.arrangement.after, model)

    def _choose(self, channel: str, model: str) -> None:
        """Choosing the model of the other side swaps the two."""
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
        """The ghost text is complete: ask the other channels."""
        self._here = here
        self._ask()

    @Slot(str)
    def on_suggestion(self, text: str) -> None:
        here = self._suggester.here
        if here is not None and self._ghost_is_model():
            self._ghost_channel.show(here, text, done=False)

    @Slot(object)
    def on_answered(self, view: CompletionView) -> None:
        """Ghost text below the minimum confidence is requested again here, where everything is shown."""
        here = self._suggester.here
        if here is not None and self._ghost_is_model() and not (view.silence and not view.text):
            self._ghost_channel.show(here, view.text, done=True)
            self._ghost_channel.view = view

    @Slot()
    def on_left(self) -> None:
        self._here, self._asked = None, {}
        for channel in self.channels.values():
            channel.leave()

    @property
    def _ghost_channel(self) -> Channel:
        """The channel whose answer equals the ghost text."""
        return self.channels[MODEL_MEMORY if self._memory.is_there and self._memory.is_on else MODEL]

    def _ghost_is_model(self) -> bool:
        return not (self._completion.blend and self._completion.second) and self._suggester.enabled

    def _ask(self) -> None:
        completion, here = self._completion, self._here
        if here is None or not self.isVisible():
            return
        for channel in self.wanted_channels:
            model = completion.model if channel.name in (MODEL, MODEL_MEMORY) else completion.second
            wanted = (here, model, completion.sampling, completion.stops)
            known = channel is self._ghost_channel and self._ghost_is_model() and channel.state == DONE
            if self._asked.get(channel.name) == wanted:
                continue
            self._asked[channel.name] = wanted
            if not known or channel.is_stale or channel.here != here:
                channel.ask(here)

    @property
    def wanted_channels(self) -> list[Channel]:
        """The channels to ask, in order: without the memory, then with it."""
        models = (MODEL, SECOND) if self._completion.second else (MODEL,)
        names = [*models, *(WITH_MEMORY[name] for name in models if self._memory.is_there)]
        return [self.channels[name] for name in names]

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._here = self._here or self._suggester.here
        self._ask()

    # ---- showing

    def _clear(self, *names: str) -> None:
        for name in names:
            self._asked.pop(name, None)
            if self.channels[name].state != NONE or self.channels[name].text:
                self.channels[name].clear()

    @Slot()
    def refresh(self, *_view: object) -> None:
        """Update choices, titles and how the two models are related."""
        completion, training = self._completion, self._application.training
        choices = completion.model_choices
        if not completion.second:
            self._clear(SECOND, SECOND_MEMORY)
        if not self._memory.is_there:
            self._clear(MODEL_MEMORY, SECOND_MEMORY)
        arrangement = arrange(choices, completion.model, completion.second, training.base, self.arrangement)
        moved = arrangement != self.arrangement
        self.arrangement = arrangement
        for pane, channel, title in (
            (self.before, arrangement.before, arrangement.titles[0]),
            (self.after, arrangement.after, arrangement.titles[1]),
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
        set_tone(pane.badge, "good" if pane is self.after and self.arrangement.related else "")
        pane.set_kind("accent" if pane is self.after and self.arrangement.related else "plain")
        pane.show_answers(chosen is not None, self._memory.is_there, self._advice(channel))

    def _badge(self, pane: SidePane, chosen: ModelChoice | None) -> str:
        if chosen is None:
            return ""
        if chosen.id == IN_TRAINING:
            return "in training"
        if not self.arrangement.related:
            return ""
        return "adapted" if pane is self.after else "base"

    def _advice(self, channel: str) -> str:
        """What to do if a side has no model."""
        return (ONLY_ONE if len(self._completion.model_choices) < 2 else CHOOSE) if channel == SECOND else ""

    @Slot()
    def refresh_texts(self) -> None:
        """Show the texts with their differences: without the memory, and with it."""
        left, right = self.arrangement.before, self.arrangement.after
        self._show_pair(self.before.alone, self.channels[left], self.after.alone, self.channels[right])
        left, right = WITH_MEMORY[left], WITH_MEMORY[right]
        self._show_pair(self.before.memory, self.channels[left], self.after.memory, self.channels[right])

    def _show_pair(self, left: Answer, before: Channel, right: Answer, after: Channel) -> None:
        both = before.state == after.state == DONE and not before.is_stale and not after.is_stale
        both = both and before.here == after.here
        marks = differing(before.text, after.text) if both else ([], [])
        line = first_difference(before.text, after.text) if both else 0
        for answer, channel, own in ((left, before, marks[0]), (right, after, marks[1])):
            answer.view.show_text(channel.here.line if channel.here else "", channel.text, own, channel.is_stale)
            words, tone = _words(channel, both, line)
            answer.say("" if both and answer is left and channel.text.strip() else words, tone)  # said once for both


def _words(channel: Channel, both: bool, line: int) -> tuple[str, str]:
    if channel.state == FAILED:
        return f"✕ {channel.failure.cause} {channel.failure.remedy}".strip(), "bad"
    if channel.is_stale:
        return "For the previous cursor position", ""
    if channel.state == NONE:
        return "Waiting for the cursor to rest", ""
    if channel.state == ASKING:
        return "Writing…", ""
    if not channel.text.strip():
        return "No suggestion", ""
    if not both:
        return "", ""
    return ("Identical", "") if not line else (f"Differs from line {line} on (underlined)", "")


def _help(choice: ModelChoice | None) -> str:
    return f"{choice.name}: {choice.words}" if choice is not None and choice.words else ""
