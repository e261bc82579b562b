"""The measuring worker, in the engine's thread: scorecards, held-out losses, the speed of base models, the benchmark.

Such a job may take half a minute, and the benchmark five; between two batches it answers waiting completions, and
checks whether it was cancelled.  Nothing is measured during a run: the device belongs to the run, which cancels what is
being measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from app.values.benchmark import BenchmarkEnded, BenchmarkProgress
from app.values.checkpoints import CheckpointRow, ImportedResult, MergeView, PrecisionLine, RecitationView
from app.values.completion import losses_key
from app.values.engine import SpeedLine
from app.values.failures import Cancelled
from app.values.repository import FileLosses
from app.values.training import RunScores, ScoreView
from app.workers import checkpoint_rows
from app.workers.completing import CompletionWorker
from app.workers.jobs import JobWorker
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


class MeasuringWorker(JobWorker):
    """One measurement after the other."""

    def __init__(self, open_device: OpenDevice, completing: CompletionWorker) -> None:
        super().__init__()
        self._open_device, self._completing = open_device, completing

    # ---- jobs

    def score_files(self, model: str) -> FileLosses:
        """The loss of every held-out file of the open repository, for the heat colours."""
        with self._measuring():
            return self._file_losses(self._open_corpus(), model, FILE_CHARACTERS)

    def score_run(self, before: str, after: str) -> None:
        """The scorecards of a run's base and result, on its repository; reports them as they become more precise.

        First what is quick (and FileLosses of the result), then with a few lines completed, finally with all.
        """
        from engine.scorecard import differences, held_out_material

        corpus, self._open_device.run_corpus = self._open_device.run_corpus, None
        with self._measuring():
            for cursors in sorted({0, min(QUICK_CURSORS, CURSORS), CURSORS}):
                material = held_out_material(corpus, cursors, 0, CHARACTERS)
                subjects = ((before, "Before"), (after, "After"))
                cards = [self._score(material, id, name) for id, name in subjects]
                scores = RunScores(score_view(cards[0]), score_view(cards[1], differences(*cards)))
                self.report(scores)
                memory = self._open_device.remembered
                here = self._open_device.corpus is not None and self._open_device.corpus.root == corpus.root
                if cursors and here and memory is not None:
                    cards = [self._score(material, id, name, memory) for id, name in subjects]
                    if None not in cards:
                        with_memory = score_view(cards[0]), score_view(cards[1], differences(*cards))
                        self.report(
                            RunScores(
                                replace(scores.before, with_memory=with_memory[0]),
                                replace(scores.after, with_memory=with_memory[1]),
                            )
                        )
                if not cursors:
                    self.report(self._file_losses(corpus, after, CHARACTERS))

    def try_blend(self, first: str, second: str, weight: float, repository: str) -> MergeView:
        """The held-out losses of a blend and of its parents; saves nothing."""
        with self._measuring():
            result = self._blended(first, second, weight, repository)
            losses = (result.first_loss, result.second_loss, result.child_loss)
            return MergeView(first, second, weight, "", "", *losses)

    def merge(self, first: str, second: str, weight: float, name: str, repository: str) -> MergeView:
        """The same, with the blend saved as a checkpoint."""
        from engine.checkpoints.combining.merge import save_merge

        with self._measuring():
            result = self._blended(first, second, weight, repository)
            store = self._open_device.store
            name = name or checkpoint_rows.merge_name(store, first, second)
            child = save_merge(store, first, second, result.parameters, name, result.child_loss)
            losses = (result.first_loss, result.second_loss, result.child_loss)
            return MergeView(first, second, weight, child.id, child.name, *losses)

    def precisions(self, id: str, repository: str) -> tuple[PrecisionLine, ...]:
        """What each precision would cost, with held-out loss; reports a PrecisionLine for each."""
        from engine.checkpoints.combining.precision_table import precision_table

        lines = []
        self.progress(0, 0, "Measuring")
        with (
            self._measuring(),
            self._held_out_loss(id, repository) as measure,
            self._open_device.store.load_parameters(id) as parameters,
        ):
            for row in precision_table(parameters, parameters.config, evaluate=measure):
                lines.append(checkpoint_rows.precision_line(row))
                self.report(lines[-1])
        return tuple(lines)

    def recitation(self, id: str) -> RecitationView:
        """What a checkpoint's weights recite of the code that they were trained on; the figures are kept with it."""
        from engine.corpus.reading.scan_progress import ScanCancelledError
        from engine.scorecard.token_measures import ScoreCancelledError
        from engine.session.recitation.audit import AUDIT_PRECISION, audit

        bench, opened = self._open_device, self._opened(AUDIT_PRECISION)
        more = {"corpus": bench.corpus, "progress": self.progress, "cancelled": self._between}
        try:
            with self._measuring():
                found = audit(bench.store, id, bench.data_folder, opened, **more)
        except (ScanCancelledError, ScoreCancelledError) as error:
            raise Cancelled from error
        except CodecoilError as error:  # no folder any more, too little memory
            return RecitationView(id, problem=error.message)
        bench.store.keep_recitation(id, found.figures)
        return RecitationView(id, found.figures.words(), found.lines)

    def import_result(self, path: str, name: str = "") -> ImportedResult:
        """What a hand-off came back with, as a checkpoint (reports its row), and then its scorecard."""
        from engine.handoff import import_any, is_scored

        bench = self._open_device

        @contextmanager
        def room() -> Iterator:
            bench.release_models()
            yield bench.device

        with self._measuring():
            more = {"report_for": self.bytes_done, "open_device": room, "look": self._look}
            manifest = import_any(bench.store, bench.data_folder, Path(path), name or None, **more)
            row = checkpoint_rows.row_in(bench.store, manifest)
            self.report(row)
            return ImportedResult(row) if is_scored(manifest) else self._scored_result(manifest, row)

    def decode_losses(self, model: str) -> str:
        """The held-out loss at every decoding precision, kept in the data folder; returns the model."""
        from engine.generate.decode_losses import DecodeLoss, DecodeLosses
        from engine.generate.options import PRECISIONS
        from engine.scorecard import held_out_material

        with self._measuring():
            corpus = self._open_corpus()
            self.progress(0, 0, "Measuring")
            material = held_out_material(corpus, 0, 0, CHARACTERS)
            losses = DecodeLosses(self._open_device.data_folder)
            for precision in PRECISIONS:
                card = self._score(material, model, model, precision=precision)
                tokens = int(card.samples["loss"].wholes.sum())
                loss = DecodeLoss(card.measures["loss"].value, tokens, str(corpus.root))
                losses.keep(losses_key(model), precision, loss)
        return model

    def base_speeds(self, names: tuple[str, ...], device: str) -> None:
        """What this machine would do with base models of the list; reports a SpeedLine for each.

        What is measured is kept under `device`, the key of the device in use.
        """
        from app.data.machine_speeds import MachineSpeeds
        from app.network.base_models import base_model
        from engine.session.machine_speed import model_key

        kept, fresh = MachineSpeeds(self._open_device.data_folder), {}
        with self._measuring():
            for number, name in enumerate(names):
                self.progress(number, len(names), f"Measuring {name} on this machine")
                config = base_model(name).config
                key = model_key(config)
                if key not in fresh:  # another model of the same shapes is as fast
                    fresh[key] = self._speed(config)
                    if fresh[key].speed is not None:
                        kept.keep(device, key, fresh[key].speed)
                self.report(replace(fresh[key], name=name))

    def benchmark(self, device: str, ceiling: int) -> BenchmarkEnded:
        """How fast every kernel of `device` is; reports a BenchmarkProgress before each."""
        from engine.benchmark.run import measure

        last, cancelled = None, False

        def report(result, done: int, total: int, what: str) -> None:
            nonlocal last
            last = result
            self.report(BenchmarkProgress(done, total, what, result.seconds))

        with self._measuring():
            self._open_device.release_models()  # for the models that are measured
            try:
                measure(device, ceiling=ceiling, report=report, look=self._look)
            except Cancelled:
                cancelled = True
        return BenchmarkEnded(device, last, cancelled)

    # ---- inside

    def _scored_result(self, manifest, row: CheckpointRow) -> ImportedResult:
        from engine.corpus.reading.scan_progress import ScanCancelledError
        from engine.handoff import score_result
        from engine.handoff.scoring import KEPT_PRECISION
        from engine.scorecard import ScoreOptions
        from engine.scorecard.token_measures import ScoreCancelledError

        bench, options = self._open_device, ScoreOptions(CURSORS, CHARACTERS)
        more = {"known": bench.corpus, "options": options, "progress": self.progress, "cancelled": self._between}
        try:
            cards = score_result(bench.store, manifest, bench.data_folder, self._opened(KEPT_PRECISION), **more)
        except (ScanCancelledError, ScoreCancelledError) as error:
            raise Cancelled from error
        except CodecoilError as error:  # no folder any more, too little memory: the checkpoint stays
            return ImportedResult(row, problem=error.message)
        before, after = (card.measures["bits_per_byte"].value for card in cards)
        return ImportedResult(row, before, after)

    def _opened(self, precision: str) -> Callable[[str], AbstractContextManager[tuple]]:
        """What opens a model of the store for the engine, in at most this precision if it is large."""

        @contextmanager
        def opened(which: str) -> Iterator[tuple]:
            with self._open_device.held(which, precision) as loaded:
                yield loaded.model, loaded.tokenizer

        return opened

    def _speed(self, config) -> SpeedLine:
        """Loaded models make room if there is too little."""
        from engine.errors import MemoryCeilingError
        from engine.session.machine_speed import measure_speed

        try:
            try:
                return SpeedLine("", measure_speed(config, self._open_device.device, self._look))
            except MemoryCeilingError:
                self._open_device.release_models()
                return SpeedLine("", measure_speed(config, self._open_device.device, self._look))
        except MemoryCeilingError as error:
            return SpeedLine("", problem=error.message)

    def _look(self) -> None:
        if self._between():
            raise Cancelled

    def _open_corpus(self):
        if self._open_device.corpus is None:
            raise CorpusError("No repository is open.", "Choose a folder first.")
        return self._open_device.corpus

    @contextmanager
    def _measuring(self) -> Iterator[None]:
        if self._open_device.session is not None:
            raise CodecoilError("Nothing can be measured during a run.", "Wait for it to finish, or stop it.")
        self._open_device.show_activity("Measuring", 0.0)
        try:
            yield
        finally:
            if self._open_device.session is None:
                self._open_device.show_activity("Idle", 0.0)

    def _between(self) -> bool:
        """Called often by whatever measures: answers waiting completions, and says whether to end."""
        self._completing.serve()
        return self.job.is_cancelled()

    def _score(self, material, model: str, name: str, memory=None, precision: str = "float32"):
        from engine.scorecard import ScoreOptions, Subject, score
        from engine.scorecard.token_measures import ScoreCancelledError

        options = ScoreOptions(seed=material.seed)
        with self._open_device.held(model, precision) as loaded:
            if memory is not None and memory.tokenizer.digest != loaded.tokenizer.digest:
                return None
            subject = Subject(name, loaded.model, loaded.tokenizer, memory, precision)
            try:
                return score(subject, material, options, self.progress, self._between)
            except ScoreCancelledError as error:
                raise Cancelled from error

    def _file_losses(self, corpus, model: str, characters: int) -> FileLosses:
        """Of every held-out file, whatever its kind and part: colours, not a score."""
        from engine.scorecard import every_held_out_file

        card = self._score(every_held_out_file(corpus, 0, characters), model, "files")
        return FileLosses(str(corpus.root), model, dict(card.file_losses))

    def _blended(self, first: str, second: str, weight: float, repository: str):
        from engine.checkpoints.combining.merge import merge, try_blend
        from engine.checkpoints.combining.sides import side_of

        self.progress(0, 0, "Measuring")
        store = self._open_device.store
        sides = side_of(store, first), side_of(store, second)
        merge(*sides, weight)  # refuse what cannot be merged before a folder is scanned
        with self._held_out_loss(first, repository) as measure:
            return try_blend(*sides, weight, measure)

    @contextmanager
    def _held_out_loss(self, id: str, repository: str) -> Iterator[HeldOutLoss]:
        """The engine's measure for weights of this checkpoint's configuration."""
        from engine.corpus.reading.scan_progress import ScanCancelledError
        from engine.session.held_out_loss import HeldOutLoss

        bench = self._open_device
        bench.release_models()
        more = (bench.data_folder, bench.device, self.progress, self._between)
        try:
            with HeldOutLoss(bench.store, id, Path(repository), *more) as measure:
                yield measure
        except ScanCancelledError as error:
            raise Cancelled from error


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
