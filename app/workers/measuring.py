"""The measuring worker: scorecards and held-out losses, in the engine's thread.

Such a job may take half a minute; between two batches it answers the completions that wait, and looks whether it is to
end.  Each kind of job is ended by itself, also while it still waits for another one.  Nothing is measured during a run:
the device belongs to the run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal, Slot

from app.values.checkpoints import MergeView
from app.values.repository import FileLosses
from app.values.training import ScoreView
from app.workers import checkpoint_rows
from app.workers.cancellation import CancelledTickets, Flag
from app.workers.completing import CompletionWorker
from app.workers.failures import Cancelled, failure_from
from app.workers.files import save_merge
from app.workers.workbench import Workbench
from engine.errors import CheckpointError, CodecoilError, CorpusError

if TYPE_CHECKING:
    import numpy as np

CURSORS, CHARACTERS = 24, 60_000  # of a quick scorecard
FILE_CHARACTERS = 2_000_000  # of the heat colours, at most
WINDOW, ROWS, MOST_WINDOWS = 256, 4, 64  # of a held-out loss


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
    losses_told = Signal(object)  # FileLosses
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

    def __init__(self, workbench: Workbench, completing: CompletionWorker, ends: MeasureEnds) -> None:
        super().__init__()
        self._workbench, self._completing, self._ends = workbench, completing, ends
        self._is_over: Callable[[], bool] = ends.any.is_raised  # whether the present job is to end

    @Slot(int, str, tuple)
    def do(self, ticket: int, name: str, arguments: tuple) -> None:
        """A job for the Checkpoints page: `try_blend`, `merge` or `precisions`."""
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

    def _score(self, corpus, model: str, name: str, cursors: int, characters: int, told):
        from engine.scorecard import ScoreOptions, Subject, held_out_material, score
        from engine.scorecard.token_measures import ScoreCancelledError

        options = ScoreOptions(cursors=cursors, characters=characters)
        material = held_out_material(corpus, cursors, options.seed, characters)
        with self._workbench.held(model) as loaded:
            subject = Subject(name, loaded.model, loaded.tokenizer)
            try:
                return score(subject, material, options, told, self._between)
            except ScoreCancelledError as error:
                raise Cancelled from error

    def _file_losses(self, model: str) -> None:
        corpus = self._workbench.corpus
        if corpus is None:
            raise CorpusError("No repository is open.", "Choose a folder first.")
        card = self._score(corpus, model, "files", 0, FILE_CHARACTERS, self.files_scoring.emit)
        self.losses_told.emit(FileLosses(str(corpus.root), model, dict(card.file_losses)))
        self.files_scoring.emit(0, 0, "")

    def _scorecards(self, before: str, after: str) -> None:
        """On what the run has learned: first what is quick, then with lines completed, which takes longer."""
        corpus = self._workbench.run_corpus
        for cursors in (0, CURSORS):
            subjects = ((before, "Before"), (after, "After"))
            cards = [self._score(corpus, id, name, cursors, CHARACTERS, self.scoring.emit) for id, name in subjects]
            self.scored.emit(*map(score_view, cards))
            if not cursors:
                self.losses_told.emit(FileLosses(str(corpus.root), after, dict(cards[1].file_losses)))
        self.scoring.emit(0, 0, "")

    def _try_blend(self, first: str, second: str, weight: float, repository: str) -> None:
        result = self._blended(first, second, weight, repository)
        losses = (result.first_loss, result.second_loss, result.child_loss)
        self.answered.emit("try_blend", MergeView(first, second, weight, "", "", *losses))

    def _merge(self, first: str, second: str, weight: float, name: str, repository: str) -> None:
        result = self._blended(first, second, weight, repository)
        store = self._workbench.store
        child = save_merge(store, first, second, result.parameters, weight, name, result.child_loss)
        losses = (result.first_loss, result.second_loss, result.child_loss)
        self.store_changed.emit()
        self.answered.emit("merge", MergeView(first, second, weight, child.id, child.name, *losses))

    def _blended(self, first: str, second: str, weight: float, repository: str):
        from engine.checkpoints.comparison_side import side_of
        from engine.checkpoints.merge import merge, try_blend

        store = self._workbench.store
        sides = side_of(store, first), side_of(store, second)
        merge(*sides, weight)  # refuse what cannot be merged before a folder is scanned
        with _HeldOutLoss(self._workbench, first, repository, self.progressed.emit, self._between) as measure:
            return try_blend(*sides, weight, measure)

    def _precisions(self, id: str, repository: str) -> None:
        from engine.checkpoints.precision_table import precision_table

        lines = []
        with (
            _HeldOutLoss(self._workbench, id, repository, self.progressed.emit, self._between) as measure,
            self._workbench.store.load_parameters(id) as parameters,
        ):
            for row in precision_table(parameters, evaluate=measure):
                lines.append(checkpoint_rows.precision_line(row))
                self.precision_measured.emit(id, lines[-1])
        self.precisions_ready.emit(id, tuple(lines))


class _HeldOutLoss:
    """The mean loss of any weights of one checkpoint's configuration on the same held-out text."""

    def __init__(self, workbench: Workbench, id: str, repository: str, progress, look: Callable[[], bool]) -> None:
        from engine.corpus.repository import Repository
        from engine.corpus.scan_progress import ScanCancelledError
        from engine.corpus.tokenizer import Tokenizer
        from engine.corpus.windows import HeldOutWindows
        from engine.model.model import Model

        path = workbench.store.tokenizer_path(id)
        if path is None:
            raise CheckpointError("The checkpoint has no tokenizer: its loss cannot be measured.")
        try:
            corpus = Repository(Path(repository), workbench.data_folder, Tokenizer.load(path)).scan(progress, look)
        except ScanCancelledError as error:
            raise Cancelled from error
        self._batches = list(HeldOutWindows(corpus, WINDOW, ROWS, limit=MOST_WINDOWS))
        self._tokens = int(sum(batch.counted.sum() for batch in self._batches))
        if not self._tokens:
            raise CorpusError(f"{repository} has no text to hold out.", "Choose a larger folder of source code.")
        workbench.release_models()
        self._look, self._progress = look, progress
        self._model = Model(workbench.store.config(id), workbench.device)

    def __call__(self, parameters: Mapping[str, np.ndarray]) -> float:
        for name, array in parameters.items():
            self._model.parameters[name] = array
        total = 0.0
        for done, batch in enumerate(self._batches):
            self._progress(done, len(self._batches), "Measuring held-out code")
            if self._look():
                raise Cancelled
            total += float(self._model.losses(batch.tokens, batch.counted).sum(dtype="float64"))
        return total / self._tokens

    def __enter__(self) -> _HeldOutLoss:
        return self

    def __exit__(self, *_: object) -> None:
        self._model.close()


def score_view(card) -> ScoreView:
    """A scorecard of the engine as the result card shows it."""
    values = {name: float(measure.value) for name, measure in card.measures.items()}
    return ScoreView(
        card.name,
        values.get("loss", float("nan")),
        values.get("bits_per_byte"),
        values.get("next_line_exact"),
        values.get("keystrokes_saved_by_line"),
    )
