"""The audit before an export: what the weights of a checkpoint recite, and what its base recites of the same lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from engine.checkpoints.store.manifest import Manifest, now
from engine.checkpoints.store.reading import StoreReader
from engine.checkpoints.store.recitation import Recitation
from engine.checkpoints.store.trained_folder import is_here, trained_on
from engine.corpus.corpus import Corpus
from engine.corpus.repository import corpus_at
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.errors import CheckpointError, CorpusError
from engine.model.model import Model
from engine.scorecard.intervals import share_interval
from engine.scorecard.token_measures import ask_cancelled
from engine.session.bases import tokenizer_of
from engine.session.changes import SEEN, changed_since
from engine.session.recitation.asking import ALTERNATIVES, exposure, recited
from engine.session.recitation.canaries import Canary, canaries, canary_question
from engine.session.recitation.rare_lines import RareLine, rare_lines

LINES = 200  # that are asked for
MOST_PLANTED = 64
AUDIT_PRECISION = "float16"  # in which a large model is kept meanwhile: 16 bits lose nothing measurable

OpenModel = Callable[[str], AbstractContextManager[tuple[Model, Tokenizer]]]  # by the id of a checkpoint
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class RecitedLine:
    """A line that the weights recite: `given` was asked with, `rest` came back."""

    path: str
    number: int
    given: str
    rest: str
    by_base: bool


@dataclass(frozen=True)
class Audit:
    """The figures that are kept, and the lines, which are not."""

    figures: Recitation
    lines: tuple[RecitedLine, ...]


def audit(
    store: StoreReader,
    which: str,
    data_folder: Path,
    open_model: OpenModel,
    *,
    corpus: Corpus | None = None,
    progress: Progress | None = None,
    cancelled: Callable[[], bool] | None = None,
    lines: int = LINES,
) -> Audit:
    """Ask a checkpoint for rare lines of the folders that it and those before it were trained on.

    Only for lines of files that are still as they were. `corpus`: one of those folders as it was read before.
    `cancelled` is asked often; ScoreCancelledError or ScanCancelledError is raised then.
    """
    family = _family(store, store.get(which))
    tokenizer = tokenizer_of(store, family[0])
    roots = list(dict.fromkeys(root for one in family if (root := trained_on(one))))
    if not roots:
        raise CorpusError(f"{family[0].name} was not trained on a folder.", "There is nothing to ask for.")
    there = [root for root in roots if is_here(root) and Path(root).is_dir()]
    if not there and not any(map(is_here, roots)):
        raise CorpusError(
            f"{family[0].name} was trained on another machine, on a folder named {roots[0]}.",
            "Measure it there: without that folder nobody can tell what the weights recite of it.",
        )
    if not there:
        raise CorpusError(
            f"The folder that {family[0].name} was trained on, {next(filter(is_here, roots))}, is not there any more.",
            "Without it nobody can tell what the weights recite of it.",
        )
    asked: list[RareLine] = []
    for number, root in enumerate(there):
        here = corpus_at(Path(root), data_folder, tokenizer, corpus, progress, cancelled)
        most = lines * (number + 1) // len(there) - len(asked)
        asked += rare_lines(here, _known_paths(here, family), most, _watch(progress, cancelled))
    planted = _planted(family)
    with open_model(family[0].id) as (model, own):
        questions = [(seed, canary, canary_question(own, canary)) for seed, canary in planted]
        planted = [(seed, canary, line) for seed, canary, line in questions if line is not None]
        look = _counting(progress, cancelled, len(asked) + len(planted), "Asking the weights for rare lines")
        found = recited(model, asked, look)
        canary_found = recited(model, [line for *_, line in planted], look)
        exposures = []
        for number, (seed, canary, _) in enumerate(planted):
            look(len(asked) + number)
            exposures.append(exposure(model, own, seed, canary))
    by_base = _asked_of_base(family, tokenizer, asked, open_model, progress, cancelled)
    new = [is_here and not (by_base and by_base[n]) for n, is_here in enumerate(found)]
    low, high = share_interval(sum(new), len(new))
    figures = Recitation(
        measured=now(),
        asked=len(asked),
        recited=sum(found),
        by_base=None if by_base is None else sum(by_base),
        from_training=sum(new),
        low=low,
        high=high,
        planted=len(planted),
        planted_recited=sum(canary_found),
        exposure=sum(exposures) / len(exposures) if exposures else 0.0,
        alternatives=ALTERNATIVES if exposures else 0,
        folders_missing=len(roots) - len(there),
    )
    kept = [
        RecitedLine(line.path, line.number, line.given, line.rest, bool(by_base and by_base[n]))
        for n, line in enumerate(asked)
        if found[n]
    ]
    kept += [
        RecitedLine(line.path, line.number, line.given, line.rest, False)
        for (*_, line), is_here in zip(planted, canary_found, strict=True)
        if is_here
    ]
    return Audit(figures, tuple(kept))


def _family(store: StoreReader, manifest: Manifest) -> list[Manifest]:
    """A checkpoint, then all that it was made from as far as the store has them, nearest first."""
    found, waiting = {manifest.id: manifest}, [manifest]
    while waiting:
        one = waiting.pop(0)
        for id in (*one.parents, *([one.base.id] if one.base else [])):
            if id in found:
                continue
            try:
                found[id] = store.get(id)
            except CheckpointError:
                continue  # deleted, or left on another machine
            waiting.append(found[id])
    return list(found.values())


def _known_paths(corpus: Corpus, family: Sequence[Manifest]) -> set[str]:
    """Files that were trained on as they are now; all, where no checkpoint of the family says which it has seen."""
    paths = {document.path for document in corpus.learned_documents}
    seeing = [one for one in family if trained_on(one) == str(corpus.root) and one.data.get(SEEN)]
    if not seeing:
        return paths
    return paths - set.intersection(*(set(changed_since(one, corpus)) for one in seeing))


def _planted(family: Sequence[Manifest]) -> list[tuple[int, Canary]]:
    """The canaries of every run in the family, with their seeds, each once."""
    found: dict[tuple[int, int], Canary] = {}
    for one in family:
        seed, count = one.options.get("seed"), one.options.get("canaries")
        if type(seed) is int and type(count) is int and 0 < count <= MOST_PLANTED:
            found |= {(seed, canary.number): canary for canary in canaries(seed, count)}
    return [(seed, canary) for (seed, _), canary in found.items()]


def _asked_of_base(
    family: Sequence[Manifest],
    tokenizer: Tokenizer,
    asked: Sequence[RareLine],
    open_model: OpenModel,
    progress: Progress | None,
    cancelled: Callable[[], bool] | None,
) -> list[bool] | None:
    """What the nearest ancestor that was trained on no folder recites of the same lines; None where there is none."""
    base = next((one for one in family if not trained_on(one)), None)
    if base is None:
        return None
    with open_model(base.id) as (model, its_tokenizer):
        if its_tokenizer.digest != tokenizer.digest:
            return None
        return recited(model, asked, _counting(progress, cancelled, len(asked), "Asking the base for the same lines"))


def _watch(progress: Progress | None, cancelled: Callable[[], bool] | None) -> Callable[[int, int], None]:
    def look(done: int, total: int) -> None:
        ask_cancelled(cancelled)
        if progress is not None:
            progress(done, total, "Looking for rare lines")

    return look


def _counting(
    progress: Progress | None, cancelled: Callable[[], bool] | None, total: int, words: str
) -> Callable[[int], None]:
    def look(done: int) -> None:
        ask_cancelled(cancelled)
        if progress is not None:
            progress(done, total, words)

    return look
