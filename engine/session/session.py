"""One run on one device: from a plan to a checkpoint, one thing at a time."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from engine.checkpoints.store.store import CheckpointStore
from engine.corpus.corpus import Corpus
from engine.devices import Device
from engine.errors import CheckpointError, CodecoilError, CorpusError, DeviceError, DeviceLostError
from engine.session.bases import base_of, corpus_for
from engine.session.batches import (
    large_file_note,
    measured_windows,
    resolved,
    tokenizer_of_cursor,
    training_windows,
)
from engine.session.changed_file_selection import Selection, select_changed
from engine.session.changes import changed_since
from engine.session.fim_teaching import FimTeaching
from engine.session.lost_device import Recovery, interruption, resumed_words
from engine.session.origin import Origin
from engine.session.plan import SessionPlan
from engine.session.results import History, Learned, Results
from engine.session.saving import BackgroundWriter
from engine.session.trained_parts import TOKEN_IDS, tokens_to_train, with_base_precision
from engine.train.events import CheckpointEvent, EvaluationEvent, Event, FinishedEvent, NoteEvent, PlanEvent
from engine.train.options import TrainingOptions
from engine.train.saved_run import SavedRun, forget_run, load_run, require_room, run_path, save_run
from engine.train.trainer import Trainer
from engine.train.trainer_state import TrainerState

KEPT_COPIES = 5  # of what is trained: a saved run has the present, the best and two moments, the result is one more
SAVE_SECONDS = 45.0  # between two saves: with the time that writing takes, a crash costs less than a minute
GENTLER = 0.1  # of a mode's rate, for changes: at the full rate the model forgets the rest at once
WAIT_SECONDS = 0.05  # at a time, for the first save: a pause or a stop must not wait for the disk
TAUGHT = "teaches_fim"  # in what is saved of a run

Progress = Callable[[int, int, str], None]


class Session:
    """One run.  Use it from the thread that opened the device; `stop`, `pause` and `resume` from any."""

    def __init__(
        self,
        plan: SessionPlan,
        device: Device,
        progress: Progress | None = None,
        saved: SavedRun | None = None,
        *,
        corpus: Corpus | None = None,
        cancelled: Callable[[], bool] | None = None,
        reopen: Callable[[], Device] | None = None,
    ) -> None:
        """Reads the repository and loads the model; `saved` is a run to resume.

        `corpus`: the repository as it was read before, used if the base has the tokenizer that it was read with.
        `cancelled` is asked while files are read. `reopen` closes a device that was lost and returns one to continue
        on; without it a loss ends the run.
        """
        self.plan, self.device, self._recovery = plan, device, Recovery(reopen)
        self.run_id = saved.run if saved else uuid.uuid4().hex[:12]
        self.finished = False  # True once nothing is left to do
        self._switching = threading.RLock()  # held while another trainer takes over
        self._store = CheckpointStore(plan.data_folder / "checkpoints")
        self._runs = plan.data_folder / "runs"
        self._writer = BackgroundWriter()
        self._set_up(saved, corpus, progress, cancelled)

    def _set_up(
        self,
        saved: SavedRun | None,
        corpus: Corpus | None,
        progress: Progress | None = None,
        cancelled: Callable[[], bool] | None = None,
    ) -> None:
        """All that belongs to the device, and to where the run is."""
        plan, device = self.plan, self.device
        self._history = History(saved.history if saved else ())
        self._snapshots = saved.more["snapshots"] if saved else 0
        self._ended: FinishedEvent | None = None
        self._reported = False  # whether the end was: not before what was taught has been tried out
        options = saved.options if saved else plan.options
        with ExitStack() as opened:  # closed again if something fails
            self.base = base_of(self._store, plan, progress, cancelled)
            opened.enter_context(self._store.in_use(self.base.id, self.run_id))  # not deleted until `opened` is closed
            self.corpus = corpus_for(self._store, self.base, plan, corpus, progress, cancelled)
            if not self.corpus.learned_documents:
                remedy = "`codecoil scan` lists why each file is left out."
                raise CorpusError(f"There is nothing to learn in {plan.root}.", remedy)
            origin = Origin.of(self._store, self.base)
            self._fim = FimTeaching(self.corpus, saved.more.get(TAUGHT, False) if saved else options.fim_share > 0)
            self._token_ids = tokens_to_train(saved, options, origin.config, self._fim)
            options = with_base_precision(saved, options, origin.config, device, self._token_ids)
            self.model = origin.open_model(self._store, device, options, self._token_ids)
            opened.callback(self.model.close)
            self._fim.initialise(self.model, origin.trained_tokens)
            self.model.document_end = self.corpus.tokenizer.special.end_of_text
            self._selection = self._select(saved, options, progress)
            self.options = options if saved else self._resolved(options)
            self._windows = training_windows(self._fim.corpus, self.options, self._selection.learned)
            self.trainer = self._trainer()
            opened.callback(self.trainer.close)
            require_room(self._runs, KEPT_COPIES * self.trainer.trained_bytes)
            learned = Learned.from_corpus(plan.root, self.corpus, self._selection.unseen)
            self._results = Results(self._store, origin, learned, self.run_id, self.options)
            if saved is not None:
                self._notes = [self._restore(saved)]
            elif plan.incremental:
                self._notes = [self._selection.note]
                if self._selection.skipped and not self._selection.learned:
                    self.trainer.end("nothing new to learn")
            else:
                self._notes = [large_file_note(self.corpus.learned_documents)]
            self._opened = opened.pop_all()
        self._saved_at, self._saved_step = time.monotonic(), saved.state.numbers.step if saved else -1

    @property
    def history(self) -> tuple[dict[str, Any], ...]:
        """Every event so far as JSON, including those from before a resume."""
        return tuple(self._history.lines)

    # ---- running

    def run(self) -> Iterator[Event]:
        """All events, including the checkpoint at the end; waits while paused."""
        while not self.finished:
            yield from self.advance()

    def advance(self) -> list[Event]:
        """Do the next thing, at most about one step's worth of work, and return the events that it caused.

        Returns none if there is nothing to do now (paused, resting); call it until `finished`. Raises if the result
        cannot be saved; the next call tries again.
        """
        if self.finished:
            return []
        events: list[Event] = [NoteEvent(self.trainer.step, note) for note in self._notes if note]
        self._notes = []
        events += self._writer.collect()
        if self._saved_step < 0 and self._writer.busy:
            self._writer.wait(WAIT_SECONDS)  # nothing is computed until it is certain that it can be saved
            return events
        try:
            if self._ended is None:
                events += self._train()
            if self._ended is not None and not self._reported and self._fim_is_tried(self._ended):
                self._reported = True
                events += [*self._fim_notes(self._ended), self._ended]
            self._history.add(events)
            if self._ended is None:
                self._save_when_due()
            elif self._reported:
                events += self._finish(self._ended)
        except DeviceLostError as error:
            self._recover(error)
            return []
        except DeviceError as error:
            raise self._interrupted(error) from error
        return events

    def pause(self) -> None:
        """Take no more steps until `resume`.  From any thread."""
        with self._switching:
            self.trainer.pause()

    def resume(self) -> None:
        """After `pause`.  From any thread."""
        with self._switching:
            self.trainer.resume()

    def stop(self) -> None:
        """End soon, with the best weights so far.  From any thread."""
        with self._switching:
            self.trainer.stop()

    def set_duty_cycle(self, share: float) -> None:
        """Change the duty cycle from the next step on; it is saved with the run."""
        self.options = self.trainer.options = self.trainer.options.changed(duty_cycle=share)

    @property
    def can_resume(self) -> bool:
        """Whether the run is on disk, as of its last save."""
        return self._saved_step >= 0 and not self.finished and run_path(self._runs, self.run_id).is_file()

    def save_progress(self) -> None:
        """Save the run now, and wait until it is written."""
        self._writer.wait()
        save_run(self._runs, self._saved_run())
        self._saved_at, self._saved_step = time.monotonic(), self.trainer.step

    def close(self) -> None:
        """Finish writing, then free all memory."""
        self._writer.close()
        self._opened.close()

    # ---- one thing at a time

    def _train(self) -> list[Event]:
        events: list[Event] = []
        for event in self.trainer.advance():
            if isinstance(event, PlanEvent):
                event = self._with_names(event)
            elif isinstance(event, FinishedEvent):
                self._ended = self._with_counts(event)
                continue
            events.append(event)
            if isinstance(event, EvaluationEvent) and self._ended is None:
                self._snapshot_when_due(event)
        return events

    def _save_when_due(self) -> None:
        """The first evaluation makes a run worth resuming; after that the time decides."""
        if self._writer.busy or not self.trainer.between_steps:
            return
        first = self._saved_step < 0 and self.trainer.evaluated
        moved = self.trainer.step != self._saved_step
        if first or (moved and time.monotonic() - self._saved_at >= SAVE_SECONDS):
            self._save_in_background(required=first)

    def _finish(self, ended: FinishedEvent) -> list[Event]:
        """Save the result, and only then delete the saved run."""
        self._writer.wait()
        events = self._writer.collect()
        if ended.rolled_back:
            self._results.drop_snapshots()
        elif ended.improved:
            manifest = self._results.find_result()
            if manifest is None:
                weights, skipped = self._results.copy(self.model, self._token_ids), len(self._selection.skipped)
                manifest = self._results.save_result(ended, weights, self.history, skipped, self._fim.outcome())
            events.append(CheckpointEvent(ended.step, manifest.id, manifest.name, ended.held_out_after))
        forget_run(self._runs, self.run_id)
        self.finished = True
        return events

    def _fim_is_tried(self, ended: FinishedEvent) -> bool:
        """Measure a little of what filling in gains; True once nothing is left to measure, or nobody waits for it."""
        if self.trainer.stopping or not ended.improved:
            return True
        if self.trainer.paused:
            time.sleep(WAIT_SECONDS)
            return False
        return self._fim.try_out(self.model, self.corpus.validation_code, self.options.sequence_length)

    def _fim_notes(self, ended: FinishedEvent) -> list[Event]:
        outcome = self._fim.outcome() if ended.improved else None
        return [] if outcome is None else [NoteEvent(ended.step, outcome.note)]

    # ---- when the device fails

    def _interrupted(self, error: DeviceError) -> DeviceError:
        """The device failed: the error for people, once the last save is on disk."""
        self._writer.wait()
        return interruption(error, self.run_id, self.trainer.step, self._saved_step)

    def _recover(self, error: DeviceLostError) -> None:
        """Continue from the last save on the device opened anew; raises where that is not possible."""
        interrupted, lost, step = self._interrupted(error), self.device.description, self.trainer.step
        if not self._recovery.is_worthwhile(step):
            raise interrupted from error
        self._opened.close()
        saved = load_run(self._runs, self.run_id) if self.can_resume else None
        share = self.options.duty_cycle  # may have changed since the save
        self.plan = replace(self.plan, base=self.base.id)
        with self._switching:
            asked = self.trainer
            try:
                self.device = self._recovery.reopened(step)
                self._set_up(saved, self.corpus)
            except CodecoilError as again:
                raise interrupted from again
            self.trainer.do_as(asked)
        self.set_duty_cycle(share)
        self._notes.append(resumed_words(lost, self.device.description, self._saved_step))

    # ---- saving during the run

    def _save_in_background(self, required: bool) -> None:
        """Copy the state now, and write it in another thread."""
        saved, step = self._saved_run(), self.trainer.step

        def write() -> None:
            save_run(self._runs, saved)
            self._saved_step = step

        self._saved_at = time.monotonic()
        self._writer.submit(step, write, required)

    def _saved_run(self) -> SavedRun:
        state = self.trainer.state()
        if self._token_ids is not None:
            state = TrainerState({**state.arrays, TOKEN_IDS: self._token_ids}, state.numbers)
        more = {"snapshots": self._snapshots, "timeline": self.plan.timeline, TAUGHT: self._fim.is_active}
        more |= self._selection.to_json()
        return SavedRun(
            self.run_id,
            str(self.plan.root),
            self.base.id,
            self.options,
            self._windows.state(),
            state,
            more,
            self.history,
        )

    def _snapshot_when_due(self, event: EvaluationEvent) -> None:
        """Save a snapshot if the next part of the run is over."""
        parts = self.plan.timeline
        share = self.trainer.progress
        if not parts or not event.step or share >= 1.0 or share * parts < self._snapshots + 1:
            return
        if not self._results.can_snapshot(self.model):
            return
        self._snapshots += 1
        weights = self._results.copy(self.model, self._token_ids)

        def write() -> Event:
            manifest = self._results.save_snapshot(event.step, event.held_out_loss, weights)
            return CheckpointEvent(event.step, manifest.id, manifest.name, event.held_out_loss, timeline=True)

        self._writer.submit(event.step, write)

    # ---- preparing

    def _select(self, saved: SavedRun | None, options: TrainingOptions, progress: Progress | None) -> Selection:
        """Which changed files are learned; empty for a run over everything."""
        if saved is not None:
            return Selection.from_json(saved.more, self.corpus)
        if not self.plan.incremental:
            return Selection()
        news = changed_since(self._store.get(self.plan.changed_since or self.base.id), self.corpus)
        return select_changed(self.model, self.corpus, self.plan.changed or news, news, options, progress)

    def _resolved(self, options: TrainingOptions) -> TrainingOptions:
        """Epochs as steps, and the learning rate if none was chosen: lower when adapting to changes.

        Both are saved with the run, so that it is resumed as it was started.
        """
        weights, learned = self.model.config.parameter_count, self._selection.learned
        if self.plan.incremental and not options.learning_rate:
            options = options.changed(learning_rate=GENTLER * options.peak_rate_for(weights))
        mixed = bool(learned) and len(learned) < len(self.corpus.learned_documents)
        return resolved(options, weights, learned or self.corpus.learned_documents, mixed)

    def _trainer(self) -> Trainer:
        """The trainer, measuring validation code; in an incremental run that of the rest, and the changed files."""
        selection = self._selection
        rest = [d for d in self.corpus.validation_code if d.path not in selection.paths]
        held_out = measured_windows(self.corpus, rest or self.corpus.validation_code, self.options)
        changed = measured_windows(self.corpus, selection.learned, self.options) if selection.learned else None
        return Trainer(
            self.model, self._windows.take, held_out, self.options, changed=changed, token_ids=self._token_ids
        )

    def _restore(self, saved: SavedRun) -> str:
        """Continue where the saved run was; returns a note if the files have changed since."""
        if tokenizer_of_cursor(saved.cursor) != self.corpus.tokenizer.digest:
            raise CheckpointError(
                f"Run {saved.run} was not started with the tokenizer of {self.base.name} ({self.base.id[:8]}).",
                "Start a new run.",
            )
        arrays = {name: array for name, array in saved.state.arrays.items() if name != TOKEN_IDS}
        self.trainer.restore(TrainerState(arrays, saved.state.numbers))
        return self._windows.restore(saved.cursor)

    def _with_names(self, event: PlanEvent) -> PlanEvent:
        return replace(
            event,
            run=self.run_id,
            base=self.base.name,
            base_id=self.base.id,
            changed_files=len(self._selection.learned),
            skipped_files=len(self._selection.skipped),
        )

    def _with_counts(self, event: FinishedEvent) -> FinishedEvent:
        selection = self._selection
        return replace(event, changed_files=len(selection.learned), skipped_files=len(selection.skipped))
