"""Completion as the editor sees it: which model answers, how, and the answers as they arrive."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

from PySide6.QtCore import QObject, Signal, Slot

from app.data.settings_file import FIELDS, MOST_FOLDERS
from app.state.choices import usual_model
from app.state.settings import Settings
from app.values.completion import (
    CHANNELS,
    GHOST,
    IN_TRAINING,
    MODEL,
    MODEL_MEMORY,
    SECOND,
    SECOND_MEMORY,
    CompletionQuery,
    CompletionView,
    ModelChoice,
    ModelInUse,
    TimelinePoint,
)
from app.values.events import Failure
from app.workers.completing import CompletionWorker
from app.workers.jobs import Jobs
from engine.generate.options import OPTIONS, SUGGESTION_STOPS, Sampling

ALONE, REMEMBERING = (MODEL, SECOND), (MODEL_MEMORY, SECOND_MEMORY)  # channels that ignore the memory switch


class CompletionController(QObject):
    """Requests by ticket; a newer request of a channel supersedes the one before."""

    changed = Signal()  # model_choices, model, second, blend, sampling, stops
    piece = Signal(int, str)  # ticket, text to append
    completed = Signal(int, object)  # ticket, CompletionView
    failed = Signal(int, object)  # ticket, Failure
    timeline_listed = Signal(str, object)  # run, tuple[TimelinePoint]

    query_wanted = Signal(object)  # CompletionQuery; from here on: to the worker
    cancel_wanted = Signal(int)
    in_use_changed = Signal(object)  # ModelInUse, which answers editors

    def __init__(self, settings: Settings, jobs: Jobs, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._settings, self._jobs = settings, jobs
        self._listed = False  # whether the store has been read
        self._stored: tuple[ModelChoice, ...] = ()  # `model_choices` without the one in training
        self._is_training = False
        self._folder = ""  # the open one; "": none
        self._is_settled = True  # whether the open folder has its model
        self._left: dict[str, str] = {}  # the model that was in use when a folder was left
        self._ticket = 0
        self._waiting: dict[str, int] = {}  # ticket by channel
        self._points: dict[str, tuple[TimelinePoint, ...]] = {}
        self.model_choices: tuple[ModelChoice, ...] = ()
        self.model = settings.model  # of the ghost text and the left side
        self.second = ""  # of the right side, and what `blend` mixes in; "": none
        self.blend = 0.0  # 0: all `model`, 1: all `second`
        self.sampling = self._kept(Sampling())
        self.stops = self._kept(SUGGESTION_STOPS)
        self.busy = False
        self.last: CompletionView | None = None  # for latency and speed
        self._in_use: ModelInUse | None = None  # as last told
        self.changed.connect(self.tell_in_use)
        settings.changed.connect(self.on_setting_changed)

    # ---- choosing

    @Slot()
    def tell_in_use(self) -> None:
        """Tell the worker which model editors are answered by: the one that the ghost text asks."""
        second = self.second if self.blend else ""
        in_use = ModelInUse(self.model, second, self.blend if second else 0.0, self._settings.precision)
        if in_use != self._in_use:
            self._in_use = in_use
            self.in_use_changed.emit(in_use)

    def choose_model(self, model: str, folder: str = "") -> None:
        """Let this one answer in a folder, by default the open one: STARTER, IN_TRAINING or a checkpoint's id."""
        folder = folder or self._folder
        if model != IN_TRAINING:  # exists only during training: not remembered for the next start
            self._keep(model, folder)
        if model != self.model and folder == self._folder:
            self.model, self._is_settled = model, True
            self.prepare(model)
            self.changed.emit()

    def _keep(self, model: str, folder: str) -> None:
        """For the next time that the folder is open, and for folders that have no model of their own."""
        if folder:
            others = {name: kept for name, kept in self._settings.folder_models.items() if name != folder}
            self._settings.folder_models = dict([*others.items(), (folder, model)][-MOST_FOLDERS:])
        if folder == self._folder:
            self._settings.model = model

    def model_in(self, folder: str) -> str:
        """The model that answers in a folder, or would if it were open."""
        return self.model if folder == self._folder else self._model_for(folder)

    def _model_for(self, folder: str) -> str:
        """The one chosen for a folder or in use there when it was left, or else the usual one."""
        kept = self._settings.folder_models.get(folder) or self._left.get(folder, "")
        return kept if self.choice(kept) is not None else usual_model(self.model_choices, folder, self._settings.model)

    def on_folder(self, folder: str) -> None:
        """Another folder is open, or (""), none: its own model answers from now on."""
        if folder != self._folder:
            if self._is_settled and self.model != IN_TRAINING:
                self._left[self._folder] = self.model
            self._folder, self._is_settled = folder, False
            self._offer()

    def choose_second(self, model: str) -> None:
        """The other side; "" for none."""
        if model != self.second:
            self.second = model
            if model:
                self.prepare(model)
            else:
                self.blend = 0.0
            self.changed.emit()

    def prepare(self, model: str) -> None:
        """Load a model before it is needed."""
        self._jobs.ask(CompletionWorker.prepare, model, self._settings.precision)

    def set_blend(self, weight: float) -> None:
        """How much of `second` the ghost text's model has, 0 to 1; the next request uses it."""
        weight = min(1.0, max(0.0, float(weight)))
        if weight != self.blend:
            self.blend = weight
            self.changed.emit()

    def set_sampling(self, name: str, value: Any) -> str:
        """Change one sampling option; returns why the value is not possible, or ""."""
        return self._set("sampling", name, value)

    def set_stops(self, name: str, value: Any) -> str:
        """Change where suggestions end; returns why the value is not possible, or ""."""
        return self._set("stops", name, value)

    def choice(self, model: str) -> ModelChoice | None:
        """The choice with that id, if there is one."""
        return next((each for each in self.model_choices if each.id == model), None)

    # ---- asking

    def request(
        self,
        prefix: str,
        suffix: str = "",
        path: str = "",
        channel: str = GHOST,
        model: str = "",
        least_chance: float | None = None,
    ) -> int:
        """Ask for a continuation at the cursor between `prefix` and `suffix`; returns the ticket of the answer.

        The ghost text asks `model` (blended, if a blend is set) and shows what reaches the settings' least chance;
        `least_chance` replaces that.  The channels of side by side ask `model` or `second`, with or without the memory,
        and show everything.  Another model (a point of the timeline, for example) can be named.
        """
        if channel not in CHANNELS:
            raise ValueError(channel)
        if (before := self._waiting.get(channel)) is not None:
            self.cancel(before)
        self._ticket += 1
        self._waiting[channel] = self._ticket
        asked = model or (self.second if channel in (SECOND, SECOND_MEMORY) and self.second else self.model)
        blend = self.blend if not model and channel == GHOST and self.second else 0.0
        usual = self._settings.least_chance if channel == GHOST else 0.0
        self._set_busy()
        self.query_wanted.emit(
            CompletionQuery(
                self._ticket,
                channel,
                asked,
                self.second,
                blend,
                prefix,
                suffix,
                path,
                self.sampling,
                self.stops,
                self._settings.completion_context,
                channel in REMEMBERING or (channel not in ALONE and self._settings.memory_on),
                self._settings.precision,
                usual if least_chance is None else least_chance,
            )
        )
        return self._ticket

    def cancel(self, ticket: int) -> None:
        """End a request after the present token; no answer follows."""
        for channel, waiting in list(self._waiting.items()):
            if waiting == ticket:
                del self._waiting[channel]
                self.cancel_wanted.emit(ticket)
        self._set_busy()

    def timeline(self, run: str) -> tuple[TimelinePoint, ...]:
        """The checkpoints of a run by step, as far as they are known now."""
        return self._points.get(run, ())

    # ---- what the workers answer

    @Slot(object)
    def on_choices(self, choices: tuple[ModelChoice, ...], listed: bool = True) -> None:
        """What is in the store.  A model that is not in it is replaced by another once the store is `listed`."""
        self._stored, self._listed = choices, listed
        self._offer()

    def _offer(self) -> None:
        """The model in training first: the store does not list it, and it must stay chosen.

        A list that was read just before the chosen model was saved does not have it: chosen again once it is listed.
        """
        own = (ModelChoice(IN_TRAINING, "Model in training", "in its current state"),) if self._is_training else ()
        self.model_choices = (*own, *self._stored)
        known = {choice.id for choice in self.model_choices}
        kept = self._settings.folder_models.get(self._folder, "") if self._folder else self._settings.model
        if known and self._listed and (self.model not in known or not self._is_settled):
            self.model, self._is_settled = self._model_for(self._folder), True
        if self.model != IN_TRAINING and kept in known:
            self.model = kept
        if self.second and self.second not in known:
            self.second, self.blend = "", 0.0
        self.changed.emit()

    @Slot(object)
    def on_timelines(self, points: dict[str, tuple[TimelinePoint, ...]]) -> None:
        self._points = points
        for run, listed in points.items():
            self.timeline_listed.emit(run, listed)

    @Slot(int, str)
    def on_piece(self, ticket: int, text: str) -> None:
        if ticket in self._waiting.values():
            self.piece.emit(ticket, text)

    @Slot(object)
    def on_completed(self, view: CompletionView) -> None:
        if self._waiting.get(view.channel) == view.ticket:
            del self._waiting[view.channel]
            self.last = view
            self._set_busy()
            self.completed.emit(view.ticket, view)

    @Slot(int, object)
    def on_failed(self, ticket: int, failure: Failure) -> None:
        for channel, waiting in list(self._waiting.items()):
            if waiting == ticket:
                del self._waiting[channel]
                self._set_busy()
                self.failed.emit(ticket, failure)

    @Slot(str)
    def on_setting_changed(self, name: str) -> None:
        if name == "precision":
            self.tell_in_use()

    @Slot(bool)
    def on_training(self, active: bool) -> None:
        """The model being trained is a choice while there is one."""
        if active != self._is_training:
            self._is_training = active
            self._offer()

    def _set(self, what: str, name: str, value: Any) -> str:
        info = OPTIONS.get(name)
        problem = f"There is no option {name!r}." if info is None else info.problem(info.label, value)
        if not problem:
            setattr(self, what, replace(getattr(self, what), **{name: value}))
            self._settings.set(f"sampling_{name}", value)
            self.changed.emit()
        return problem

    def _kept(self, usual):
        """As it was when the program ended; options that are no setting are the usual ones."""
        names = {field.name: f"sampling_{field.name}" for field in fields(usual)}
        return replace(usual, **{name: self._settings.value(key) for name, key in names.items() if key in FIELDS})

    def _set_busy(self) -> None:
        self.busy = bool(self._waiting)
