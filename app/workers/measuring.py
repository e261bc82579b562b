"""The measuring worker: scorecards and held-out losses, in the engine's thread.

Such a job may take half a minute; between two batches it answers the completions that wait, and looks whether it is to
end.  Each kind of job is ended by itself, also while it still waits for another one.  Nothing is measured during a run:
the device belongs to the run.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot

from app.values.checkpoints import MergeView
from app.values.completion import losses_key
from app.values.repository import FileLosses
from app.values.training import ScoreView
from app.workers import checkpoint_rows
from app.workers.cancellation import CancelledTickets, Flag
from app.workers.completing import CompletionWorker
from app.workers.failures import Cancelled, failure_from
from app.workers.open_device import OpenDevice
from engine.errors import CodecoilError, CorpusError

if TYPE_CHECKING:
    from engine.session.held_out_loss import HeldOutLoss

CURSORS, CHARACTERS = 200, 60_000  # of the scorecard after a run
QUICK_CURSORS = 24  # of the one that is shown until then
FILE_CHARACTERS = 2_000_000  # of the heat colours, at most
FIELDS = {  # of a ScoreView, by name of the engine's measure
    "loss": "loss",
    "bits_per_byte": "bits_per_byte",
    "next_line_exact": "next_line_exact",
    "keystrokes_saved_by_line": "keystrokes_saved",
    "shown": "shown",
    "taken_of_shown": "taken",
}


@dataclass(frozen=True)
class MeasureEnds:
    """What ends a measurement: a run that begins, or whoever asked for it."""

    any: Flag  # up from the wish for a run until its end
    scorecard: Flag
    files: Flag
    jobs: CancelledTickets  # of the Checkpoints page


class MeasuringWorker(QObject):
    """One measurement after the other."""

    scored = Signal(object, object)  # ScoreView before, after
    losses_measured = Signal(object)  # FileLosses
    answered = Signal(str, object)  # name of a checkpoint job, what came of it
    precision_measured = Signal(str, object)
    precisions_ready = Signal(str, object)
    progressed = Signal(int, int, str)
    store_changed = Signal()
    job_began = Signal()  # it no longer waits for another measurement
    job_ended = Signal(int)  # its ticket
    failed = Signal(object)  # Failure, of a job for the Checkpoints page
    scoring = Signal(int, int, str)  # how far a scorecard is
    score_cancelled = Signal()
    score_failed = Signal(object)  # Failure
    files_scoring = Signal(int, int, str)  # how far the files are; 0 of 0 where that was ended
    files_failed = Signal(object)  # Failure

    def __init__(self, workbench: OpenDevice, completing: CompletionWorker, ends: MeasureEnds) -> None:
        super().__init__()
        self._workbench, self._completing, self._ends = workbench, completing, ends
        self._is_over: Callable[[], bool] = ends.any.is_raised  # whether the present job is to end

    @Slot(int, str, tuple)
    def do(self, ticket: int, name: str, arguments: tuple) -> None:
        """A job: `try_blend`, `merge` or `precisions` for the Checkpoints page, `decode_losses` for the settings."""
        if self._ends.jobs.is_cancelled(ticket):
            return  # while it waited; nobody waits for it any more
        self.job_began.emit()
        self._run(
            lambda: getattr(self, f"_{name}")(*arguments),
            lambda: self._ends.jobs.is_cancelled(ticket),
            lambda: self.progressed.emit(0, 0, "Cancelled"),
            lambda failure: self.failed.emit(replace(failure, job=name)),
        )
        self._ends.jobs.forget_until(ticket)
        self.job_ended.emit(ticket)

    @Slot(str)
    def score_files(self, model: str) -> None:
        """The loss of every held-out file, for the heat colours."""
        self._run(
            lambda: self._file_losses(model),
            self._ends.files.is_raised,
            lambda: self.files_scoring.emit(0, 0, ""),
            self.files_failed.emit,
        )

    @Slot(str, str)
    def score_run(self, before: str, after: str) -> None:
        """The scorecard of a run's start and of what it made."""
        self._run(
            lambda: self._scorecards(before, after),
            self._ends.scorecard.is_raised,
            self.score_cancelled.emit,
            self.score_failed.emit,
        )
        self._workbench.run_corpus = None

    # ---- inside

    def _run(
        self,
        job: Callable[[], None],
        given_up: Callable[[], bool],
        cancelled: Callable[[], None],
        fail: Callable[[object], None],
    ) -> None:
        """Do a job unless it was `given_up` while it waited; tell how it ended."""
        self._is_over = lambda: self._ends.any.is_raised() or given_up()
        try:
            if self._is_over():
                raise Cancelled
            if self._workbench.session is not None:
                raise CodecoilError("Nothing is measured during a run.", "Wait for its end, or stop it.")
            self._workbench.tell("Measuring", 0.0)
            job()
        except Cancelled:
            cancelled()
        except Exception as error:
            fail(failure_from(error))
        finally:
            if self._workbench.session is None:
                self._workbench.tell("Idle", 0.0)

    def _between(self) -> bool:
        """Asked by whatever measures, often: answers what waits and says whether to end."""
        self._completing.serve()
        return self._is_over()

    def _score(self, material, model: str, name: str, told, memory=None, precision: str = "float32"):
        from engine.scorecard import ScoreOptions, Subject, score
        from engine.scorecard.token_measures import ScoreCancelledError

        options = ScoreOptions(seed=material.seed)
        with self._workbench.held(model) as loaded:
            if memory is not None and memory.tokenizer.digest != loaded.tokenizer.digest:
                return None
            subject = Subject(name, loaded.model, loaded.tokenizer, memory, precision)
            try:
                return score(subject, material, options, told, self._between)
            except ScoreCancelledError as error:
                raise Cancelled from error

    def _file_losses(self, model: str) -> None:
        corpus = self._workbench.corpus
        if corpus is None:
            raise CorpusError("No repository is open.", "Choose a folder first.")
        self._tell_losses(corpus, model, FILE_CHARACTERS, self.files_scoring.emit)
        self.files_scoring.emit(0, 0, "")

    def _tell_losses(self, corpus, model: str, characters: int, told) -> None:
        """Of every held-out file, whatever its kind and part: colours, not a score."""
        from engine.scorecard import every_held_out_file

        card = self._score(every_held_out_file(corpus, 0, characters), model, "files", told)
        self.losses_measured.emit(FileLosses(str(corpus.root), model, dict(card.file_losses)))

    def _scorecards(self, before: str, after: str) -> None:
        """On what the run has learned: first what is quick, then with lines completed, few and at last all."""
        from engine.scorecard import differences, held_out_material

        corpus = self._workbench.run_corpus
        for cursors in sorted({0, min(QUICK_CURSORS, CURSORS), CURSORS}):
            material = held_out_material(corpus, cursors, 0, CHARACTERS)
            subjects = ((before, "Before"), (after, "After"))
            cards = [self._score(material, id, name, self.scoring.emit) for id, name in subjects]
            before_view, after_view = score_view(cards[0]), score_view(cards[1], differences(*cards))
            self.scored.emit(before_view, after_view)
            memory = self._workbench.remembered
            here = self._workbench.corpus is not None and self._workbench.corpus.root == corpus.root
            if cursors and here and memory is not None:
                cards = [self._score(material, id, name, self.scoring.emit, memory) for id, name in subjects]
                if None not in cards:
                    before_view = replace(before_view, with_memory=score_view(cards[0]))
                    after_view = replace(after_view, with_memory=score_view(cards[1], differences(*cards)))
                    self.scored.emit(before_view, after_view)
            if not cursors:
                self._tell_losses(corpus, after, CHARACTERS, self.scoring.emit)
        self.scoring.emit(0, 0, "")

    def _try_blend(self, first: str, second: str, weight: float, repository: str) -> None:
        result = self._blended(first, second, weight, repository)
        losses = (result.first_loss, result.second_loss, result.child_loss)
        self.answered.emit("try_blend", MergeView(first, second, weight, "", "", *losses))

    def _merge(self, first: str, second: str, weight: float, name: str, repository: str) -> None:
        from engine.checkpoints.combining.merge import save_merge

        result = self._blended(first, second, weight, repository)
        store = self._workbench.store
        name = name or checkpoint_rows.merge_name(store, first, second)
        child = save_merge(store, first, second, result.parameters, name, result.child_loss)
        losses = (result.first_loss, result.second_loss, result.child_loss)
        self.store_changed.emit()
        self.answered.emit("merge", MergeView(first, second, weight, child.id, child.name, *losses))

    def _blended(self, first: str, second: str, weight: float, repository: str):
        from engine.checkpoints.combining.merge import merge, try_blend
        from engine.checkpoints.combining.sides import side_of

        store = self._workbench.store
        sides = side_of(store, first), side_of(store, second)
        merge(*sides, weight)  # refuse what cannot be merged before a folder is scanned
        with self._held_out_loss(first, repository) as measure:
            return try_blend(*sides, weight, measure)

    def _decode_losses(self, model: str) -> None:
        """The held-out loss at every decoding precision, kept in the data folder."""
        from engine.generate.decode_losses import DecodeLoss, DecodeLosses
        from engine.generate.options import PRECISIONS
        from engine.scorecard import held_out_material

        corpus = self._workbench.corpus
        if corpus is None:
            raise CorpusError("No repository is open.", "Choose a folder first.")
        material = held_out_material(corpus, 0, 0, CHARACTERS)
        losses = DecodeLosses(self._workbench.data_folder)
        for precision in PRECISIONS:
            card = self._score(material, model, model, self.progressed.emit, precision=precision)
            tokens = int(card.samples["loss"].wholes.sum())
            loss = DecodeLoss(card.measures["loss"].value, tokens, str(corpus.root))
            losses.keep(losses_key(model), precision, loss)
        self.answered.emit("decode_losses", model)

    @contextlib.contextmanager
    def _held_out_loss(self, id: str, repository: str) -> Iterator[HeldOutLoss]:
        """The engine's measure for weights of this checkpoint's configuration."""
        from engine.corpus.reading.scan_progress import ScanCancelledError
        from engine.session.held_out_loss import HeldOutLoss

        bench = self._workbench
        bench.release_models()
        more = (bench.data_folder, bench.device, self.progressed.emit, self._between)
        try:
            with HeldOutLoss(bench.store, id, Path(repository), *more) as measure:
                yield measure
        except ScanCancelledError as error:
            raise Cancelled from error

    def _precisions(self, id: str, repository: str) -> None:
        from engine.checkpoints.combining.precision_table import precision_table

        lines = []
        with (
            self._held_out_loss(id, repository) as measure,
            self._workbench.store.load_parameters(id) as parameters,
        ):
            for row in precision_table(parameters, evaluate=measure):
                lines.append(checkpoint_rows.precision_line(row))
                self.precision_measured.emit(id, lines[-1])
        self.precisions_ready.emit(id, tuple(lines))


def score_view(card, against=None) -> ScoreView:
    """A scorecard of the engine as the result card shows it; `against`: its differences from the model before it."""
    measures = {field: card.measures[name] for name, field in FIELDS.items() if name in card.measures}
    values = {field: float(measure.value) for field, measure in measures.items()}
    found = {FIELDS[name]: each.verdict for name, each in (against or {}).items() if name in FIELDS}
    return ScoreView(
        card.name,
        **{"loss": float("nan"), **values},
        ranges={field: (measure.low, measure.high) for field, measure in measures.items()},
        undecided=frozenset(field for field, verdict in found.items() if verdict == "no difference"),
        notes=card.notes,
    )
