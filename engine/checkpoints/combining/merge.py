"""Merging two models of one base: a blend of their weights, with the child's held-out loss known before it is saved.

    child = first + weight * (second - first)

in float64, rounded once: weight 0 gives the first parent's bytes, weight 1 the second's, and what both agree on stays
as it is. One weight for all, or one for each layer and one for the rest (embedding, last norm, head).

A blend is judged only by its measured loss: `try_blend` returns the losses of child and parents side by side, and
`search_blend` keeps the best of a bounded number of blends, the parents among them. The search looks at the held-out
loss, so its result is slightly optimistic compared with text that was not used for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine.checkpoints.combining.compare import layer_and_kind
from engine.checkpoints.combining.sides import Side, refuse_unlike
from engine.checkpoints.combining.spans import by_rows
from engine.checkpoints.store import ROOT
from engine.checkpoints.store.manifest import BEST_METRIC, Facts, Manifest
from engine.checkpoints.store.store import CheckpointStore
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.errors import CheckpointError
from engine.model.architectures.architecture import Architecture
from engine.option_info import number_problem
from engine.tensor_file import as_float32

Evaluate = Callable[[Mapping[str, np.ndarray]], float]  # float32 parameters by name -> held-out loss
MOST_EVALUATIONS = 256
FIRST_STEP, SHRINK, LEAST_STEP = 0.25, 0.85, 0.02  # of the search: how far a layer's weight is moved


@dataclass(frozen=True)
class Blend:
    """How much of the second parent each layer gets, and everything outside the layers; 0 to 1."""

    layers: tuple[float, ...]
    outside: float

    def __post_init__(self) -> None:
        for weight in (*self.layers, self.outside):
            if problem := number_problem("A weight of the blend", weight, 0.0, 1.0):
                raise CheckpointError(problem)

    @classmethod
    def even(cls, config: Architecture, weight: float) -> Blend:
        """One weight for all."""
        return cls((weight,) * config.num_hidden_layers, weight)

    def weight(self, name: str) -> float:
        layer, _ = layer_and_kind(name)
        return self.outside if layer is None else self.layers[layer]


class BlendedParameters(Mapping[str, np.ndarray]):
    """The child's parameters by name, float32, each computed on access; read-only."""

    def __init__(self, first: Mapping[str, np.ndarray], second: Mapping[str, np.ndarray], blend: Blend) -> None:
        self._first, self._second, self.blend = first, second, blend

    def __getitem__(self, name: str) -> np.ndarray:
        weight = self.blend.weight(name)
        if weight in (0, 1):
            return as_float32((self._second if weight else self._first)[name])
        a, b = as_float32(self._first[name]), as_float32(self._second[name])
        return by_rows(lambda x, y: (blend_arrays(x, y, weight),), a, b)[0]

    def __iter__(self) -> Iterator[str]:
        return iter(self._first)

    def __len__(self) -> int:
        return len(self._first)


@dataclass(frozen=True)
class Trial:
    """A blend and the held-out loss that was measured with it."""

    blend: Blend
    loss: float


@dataclass(frozen=True)
class MergeResult:
    """The child and its loss beside its parents'; `trials` is everything that was measured, in that order."""

    blend: Blend
    child_loss: float
    first_loss: float
    second_loss: float
    trials: tuple[Trial, ...]
    parameters: BlendedParameters


def blend_arrays(first: np.ndarray, second: np.ndarray, weight: float) -> np.ndarray:
    """float32; exactly `first` or `second` at 0 and 1, and wherever the two agree."""
    if weight in (0, 1):
        return as_float32(second if weight else first)
    a = first.astype(np.float64)
    child = (a + weight * (second.astype(np.float64) - a)).astype(np.float32)
    return np.where(first == second, first, child)


def fitness_weight(first_loss: float, second_loss: float) -> float:
    """The second parent's weight by held-out loss: its share of 1 / perplexity, exp(-loss), among the two.

    Equal losses give a half; a parent whose loss is infinite weighs nothing.
    """
    if math.isnan(first_loss) or math.isnan(second_loss) or min(first_loss, second_loss) == math.inf:
        raise CheckpointError(
            f"The parents' held-out losses are {first_loss} and {second_loss}: they cannot be used as weights.",
            "Give a weight, or choose other checkpoints.",
        )
    advantage = max(-700.0, min(700.0, first_loss - second_loss))  # exp stays finite
    if math.inf in (first_loss, second_loss):
        return float(first_loss == math.inf)
    return 1 / (1 + math.exp(-advantage))


def merge(first: Side, second: Side, weight: float | Sequence[float] | Blend) -> BlendedParameters:
    """The child of two models of one base: one weight, one for each layer (the rest gets their mean), or a Blend."""
    refuse_unlike(first, second, "merged")
    if first.origin and second.origin and first.origin != second.origin:
        raise CheckpointError(
            f"{first.name} and {second.name} cannot be merged: they were not trained from the same weights "
            f"({first.origin[:12]} and {second.origin[:12]}), so a blend of them would be meaningless.",
            "Choose two checkpoints of the same base.",
        )
    return BlendedParameters(first.parameters, second.parameters, _as_blend(weight, first.config))


def try_blend(
    first: Side,
    second: Side,
    weight: float | Sequence[float] | Blend,
    evaluate: Evaluate,
    losses: tuple[float, float] | None = None,
) -> MergeResult:
    """One blend, measured.  `losses`: the parents', if they were already measured in the same way."""
    child = merge(first, second, weight)
    measured = _Measured(first, second, evaluate, losses)
    loss = measured(child.blend)
    return measured.result(Trial(child.blend, loss))


def search_blend(
    first: Side,
    second: Side,
    evaluate: Evaluate,
    *,
    evaluations: int = 24,
    seed: int = 0,
    losses: tuple[float, float] | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> MergeResult:
    """The best of at most `evaluations` measured blends, never worse than the better parent.

    First the parents, the middle and the blend by fitness; then, from the best so far, a few layers at a time are
    moved at random, by less and less. The same seed gives the same blends. `stopped` is asked
    before each measurement but those of the parents.
    """
    if problem := number_problem("The number of evaluations", evaluations, 2, MOST_EVALUATIONS, whole=True):
        raise CheckpointError(problem)
    starts = [merge(first, second, 0.5).blend]
    measured = _Measured(first, second, evaluate, losses)
    if any(map(math.isfinite, measured.losses)):
        starts.append(Blend.even(first.config, fitness_weight(*map(_or_infinite, measured.losses))))
    for start in starts:
        if measured.count < evaluations and not stopped():
            measured(start)
    random, step = np.random.default_rng(seed), FIRST_STEP
    for _ in range(4 * evaluations):  # a blend that was measured already costs a turn, not an evaluation
        if measured.count >= evaluations or stopped():
            break
        before = measured.best
        measured(_moved(before.blend, random, step))
        if measured.best is before:
            step = max(step * SHRINK, LEAST_STEP)
    return measured.result(measured.best)


def save_merge(
    store: CheckpointStore, first: str, second: str, child: BlendedParameters, name: str = "", loss: float | None = None
) -> Manifest:
    """The child as a checkpoint with two parents; the same merge under the same name is saved once.

    It belongs to the folder that its parents learned, so that it is found there like them. `loss`: its held-out loss,
    if it was measured.
    """
    parents = store.get(first), store.get(second)
    roots = [parent.data[ROOT] for parent in parents if ROOT in parent.data]
    facts = Facts(
        name=name or " + ".join(parent.name[:50] for parent in parents),
        mode="merge",
        parents=tuple(parent.id for parent in parents),
        options={"blend": {"layers": list(child.blend.layers), "outside": child.blend.outside}},
        metrics={} if loss is None else {BEST_METRIC: loss},
        data={ROOT: roots[0]} if roots else {},
    )

    def same(known: Manifest) -> bool:
        return all(getattr(known, key) == getattr(facts, key) for key in ("name", "mode", "parents", "options"))

    if known := next(filter(same, store.list()), None):
        return known
    config, tokenizer = store.config(parents[0].id), _tokenizer(store, *parents)
    return store.save(facts, config=config, parameters=child, tokenizer=tokenizer, same=same)


def _tokenizer(store: CheckpointStore, first: Manifest, second: Manifest) -> Path | bytes | None:
    """The tokenizer of the parents, without fill-in-the-middle that only one of them was taught."""
    paths = store.tokenizer_path(first.id), store.tokenizer_path(second.id)
    if paths[0] is None or paths[1] is None or paths[0] == paths[1]:
        return paths[0]
    one, other = map(Tokenizer.load, paths)
    return paths[0] if one.special == other.special else one.without_taught_fim().to_json().encode()


def _moved(blend: Blend, random: np.random.Generator, step: float) -> Blend:
    """A neighbour: about a third of the weights, at least one, moved by up to about `step`."""
    weights = np.array([*blend.layers, blend.outside])
    chosen = random.random(len(weights)) < 1 / 3
    chosen[random.integers(len(weights))] = True
    moved = np.clip(weights + chosen * step * random.standard_normal(len(weights)), 0, 1)
    *layers, outside = (round(float(weight), 4) for weight in moved)
    return Blend(tuple(layers), outside)


class _Measured:
    """Measures blends, each once, and remembers the best.  The parents come first."""

    def __init__(self, first: Side, second: Side, evaluate: Evaluate, losses: tuple[float, float] | None) -> None:
        self._first, self._second, self._evaluate = first.parameters, second.parameters, evaluate
        self._known: dict[Blend, float] = {}
        self.trials: list[Trial] = []
        self.best: Trial | None = None
        self.count = 0  # evaluations that were made here
        parents = [Blend.even(first.config, weight) for weight in (0.0, 1.0)]
        for number, parent in enumerate(parents):
            if losses is None:
                self(parent)
            else:
                self._note(parent, float(losses[number]))
        self.losses = (self._known[parents[0]], self._known[parents[1]])

    def __call__(self, blend: Blend) -> float:
        if blend not in self._known:
            self.count += 1
            self._note(blend, float(self._evaluate(BlendedParameters(self._first, self._second, blend))))
        return self._known[blend]

    def _note(self, blend: Blend, loss: float) -> None:
        self._known[blend] = loss
        trial = Trial(blend, loss)
        self.trials.append(trial)
        if self.best is None or _or_infinite(loss) < _or_infinite(self.best.loss):
            self.best = trial

    def result(self, trial: Trial) -> MergeResult:
        child = BlendedParameters(self._first, self._second, trial.blend)
        return MergeResult(trial.blend, trial.loss, *self.losses, tuple(self.trials), child)


def _or_infinite(loss: float) -> float:
    """NaN counts as worse than any loss."""
    return math.inf if math.isnan(loss) else loss


def _as_blend(weight: float | Sequence[float] | Blend, config: Architecture) -> Blend:
    if isinstance(weight, Blend):
        chosen = weight
    elif isinstance(weight, Sequence):
        layers = Blend(tuple(weight), 0.0).layers
        chosen = Blend(layers, min(math.fsum(layers) / max(len(layers), 1), 1.0))
    else:
        chosen = Blend.even(config, weight)
    if len(chosen.layers) != config.num_hidden_layers:
        raise CheckpointError(
            f"The blend has {len(chosen.layers)} weights; the models have {config.num_hidden_layers} layers.",
            "Give one weight, or one for each layer.",
        )
    return chosen
