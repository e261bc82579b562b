"""How much two models differ: by tensor, by layer, by kind of tensor, and as a whole.

Every measure comes from six sums over the elements, in float64, so that tensors add up to layers and layers to the
model. The first of the two is what the second is measured against. Two tensors of zeros have the same direction
(cosine 1); a tensor of zeros and another one have nothing in common (cosine 0, and an infinite relative distance if it
is the first). Where a value is not finite, every measure but the share of changed elements is NaN.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.checkpoints.combining.sides import Side, refuse_unlike
from engine.checkpoints.combining.spans import CORES
from engine.errors import CheckpointError
from engine.model.blocks.block import ParameterSpec
from engine.tensor_file import as_float32

Parameters = Mapping[str, np.ndarray] | Iterable[tuple[str, np.ndarray]]
MEASURES = ("relative_l2", "cosine", "largest_change", "changed_share")
PIECE = 1 << 20  # elements that a thread takes at once
SPAN = 1 << 13  # elements that stay in its cache; above 10,000 a dot product starts threads of its own
# Mamba-2 has a norm before its mixer and one in it: only of the others is "mixer" left out.
_LAYER = re.compile(r"(?:.*\.)?layers\.(\d+)\.(?:mixer\.(?!norm))?(.+)")


@dataclass(frozen=True)
class Drift:
    """Sums over pairs of elements; adding two of these gives that of both together."""

    size: int = 0
    changed: int = 0
    not_finite: int = 0  # pairs with a NaN or an infinity
    largest: float = 0.0
    product: float = 0.0
    first_square: float = 0.0
    second_square: float = 0.0
    change_square: float = 0.0

    def __add__(self, other: Drift) -> Drift:
        return Drift(
            self.size + other.size,
            self.changed + other.changed,
            self.not_finite + other.not_finite,
            max(self.largest, other.largest),
            self.product + other.product,
            self.first_square + other.first_square,
            self.second_square + other.second_square,
            self.change_square + other.change_square,
        )

    @property
    def cosine(self) -> float:
        if self.not_finite:
            return math.nan
        if self.change_square == 0:
            return 1.0
        if self.first_square == 0 or self.second_square == 0:
            return 0.0
        return max(-1.0, min(1.0, self.product / math.sqrt(self.first_square) / math.sqrt(self.second_square)))

    @property
    def relative_l2(self) -> float:
        """The length of the change, as a share of the first one's length."""
        if self.not_finite:
            return math.nan
        if self.first_square == 0:
            return math.inf if self.change_square else 0.0
        return math.sqrt(self.change_square / self.first_square)

    @property
    def largest_change(self) -> float:
        return math.nan if self.not_finite else self.largest

    @property
    def changed_share(self) -> float:
        return self.changed / self.size if self.size else 0.0


@dataclass(frozen=True)
class TensorDrift:
    """One tensor; `layer` is None outside the layers, and `kind` the rest of its name ("in_proj.weight")."""

    name: str
    layer: int | None
    kind: str
    shape: tuple[int, ...]
    drift: Drift


@dataclass(frozen=True)
class Difference:
    """An option or metric that differs, or that only one side has (the other is None)."""

    name: str
    first: Any
    second: Any


@dataclass(frozen=True)
class HeatMap:
    """One measure by layer (rows) and kind of tensor (columns, as a layer uses them); NaN where a layer has none such.

    `labels` and `short`: names for people, by kind and by name outside the layers.
    """

    measure: str
    layers: tuple[int, ...]
    kinds: tuple[str, ...]
    values: np.ndarray
    outside: dict[str, float]  # embedding, final norm and head, by name
    labels: dict[str, str]
    short: dict[str, str]


@dataclass(frozen=True)
class Comparison:
    """What was found; `options` and `metrics` list only those that differ.  `specs`: the parameters, by name."""

    tensors: tuple[TensorDrift, ...]
    options: tuple[Difference, ...] = ()
    metrics: tuple[Difference, ...] = ()
    specs: Mapping[str, ParameterSpec] = field(default_factory=dict, repr=False)

    @property
    def whole(self) -> Drift:
        return sum((tensor.drift for tensor in self.tensors), Drift())

    @property
    def layers(self) -> dict[int, Drift]:
        """Each layer as one."""
        layers: dict[int, Drift] = {}
        for tensor in self.tensors:
            if tensor.layer is not None:
                layers[tensor.layer] = layers.get(tensor.layer, Drift()) + tensor.drift
        return dict(sorted(layers.items()))

    def heat_map(self, measure: str = "relative_l2") -> HeatMap:
        if measure not in MEASURES:
            raise CheckpointError(f"There is no measure {measure!r}.", f"Choose one of: {', '.join(MEASURES)}.")
        inside = [tensor for tensor in self.tensors if tensor.layer is not None]
        layers = tuple(sorted({tensor.layer for tensor in inside}))
        used = {name: spec.used for name, spec in self.specs.items()}
        kinds = tuple(dict.fromkeys(t.kind for t in sorted(inside, key=lambda t: used.get(t.name, 0))))
        values = np.full((len(layers), len(kinds)), np.nan)
        for tensor in inside:
            values[layers.index(tensor.layer), kinds.index(tensor.kind)] = getattr(tensor.drift, measure)
        outside = {t.name: getattr(t.drift, measure) for t in self.tensors if t.layer is None}
        known = {tensor.kind: self.specs[tensor.name] for tensor in self.tensors if tensor.name in self.specs}
        labels = {kind: spec.label or kind for kind, spec in known.items()}
        short = {kind: spec.short or labels[kind] for kind, spec in known.items()}
        return HeatMap(measure, layers, kinds, values, outside, labels, short)


def compare(first: Side, second: Side) -> Comparison:
    """Two models of one shape and tokenizer, in any precision, full or delta."""
    refuse_unlike(first, second, "compared")
    return Comparison(
        compare_parameters(first.parameters, second.parameters),
        differences(first.options, second.options),
        differences(first.metrics, second.metrics),
        first.config.specs,
    )


def compare_parameters(first: Parameters, second: Parameters) -> tuple[TensorDrift, ...]:
    """Tensor by tensor, in the order of `first`; only the two tensors that are looked at need to be in memory."""
    found = []
    with ThreadPoolExecutor(CORES) as threads:
        for name, a, b in _pairs(first, second):
            if a.shape != b.shape:
                raise CheckpointError(
                    f"{name} has shape {tuple(a.shape)} in the first and {tuple(b.shape)} in the second.",
                    "Choose two checkpoints of the same model.",
                )
            flat_a, flat_b = a.reshape(-1), b.reshape(-1)
            starts = range(0, a.size, PIECE)
            if len(starts) > 1:
                pieces = threads.map(lambda start: _drift(flat_a, flat_b, start), starts)  # noqa: B023
                drift = sum(pieces, Drift())
            else:
                drift = _drift(flat_a, flat_b, 0)
            found.append(TensorDrift(name, *layer_and_kind(name), tuple(a.shape), drift))
    return tuple(found)


def layer_and_kind(name: str) -> tuple[int | None, str]:
    """("backbone.layers.3.mixer.D") -> (3, "D"); (None, name) outside the layers."""
    found = _LAYER.fullmatch(name)
    return (int(found[1]), found[2]) if found else (None, name)


def differences(first: Mapping[str, Any], second: Mapping[str, Any]) -> tuple[Difference, ...]:
    """The entries in which two sets of options differ; inner ones by "outer.inner"."""
    a, b = dict(_entries(first)), dict(_entries(second))
    names = sorted(a.keys() | b.keys())
    return tuple(Difference(name, a.get(name), b.get(name)) for name in names if not _same(name, a, b))


def _entries(options: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in options.items():
        if isinstance(value, Mapping) and value:
            yield from _entries(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _same(name: str, a: dict[str, Any], b: dict[str, Any]) -> bool:
    if (name in a) != (name in b):
        return False
    x, y = (list(value) if isinstance(value, tuple) else value for value in (a[name], b[name]))
    return x == y or (isinstance(x, float) and isinstance(y, float) and math.isnan(x) and math.isnan(y))


def _pairs(first: Parameters, second: Parameters) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Both sides' tensors of each name.  Of two iterators in different order, one side waits in memory."""
    if isinstance(first, Mapping) and isinstance(second, Mapping) and list(first) == list(second):
        for (name, array), (_, other) in zip(first.items(), second.items(), strict=True):
            yield name, array, other  # by `items`: mapped files release the tensors that have been read
        return
    waiting: dict[str, np.ndarray] = {}
    others = None if isinstance(second, Mapping) else iter(second)
    left = set(second) if isinstance(second, Mapping) else set()
    for name, array in first.items() if isinstance(first, Mapping) else first:
        if others is None:
            other = second[name] if name in left else None
            left.discard(name)
        else:
            while name not in waiting and (following := next(others, None)) is not None:
                waiting[following[0]] = following[1]
            other = waiting.pop(name, None)
        if other is None:
            raise CheckpointError(
                f"{name} is only in the first of the two.", "Choose two checkpoints of the same model."
            )
        yield name, array, other
    rest = sorted([*left, *waiting, *(name for name, _ in others or ())])
    if rest:
        raise CheckpointError(
            f"{rest[0]} is only in the second of the two.", "Choose two checkpoints of the same model."
        )


def _drift(first: np.ndarray, second: np.ndarray, start: int) -> Drift:
    """The sums over at most PIECE elements from `start`."""
    stop = min(start + PIECE, first.size)
    room = np.empty((3, min(SPAN, stop - start)))
    sums, largest, changed, not_finite = np.zeros(4), 0.0, 0, 0
    for begin in range(start, stop, SPAN):
        a = as_float32(first[begin : min(begin + SPAN, stop)])
        b = as_float32(second[begin : min(begin + SPAN, stop)])
        x, y, change = room[:, : a.size]
        x[:], y[:] = a, b
        with np.errstate(invalid="ignore"):
            np.subtract(y, x, out=change)
            squares = (np.dot(x, y), np.dot(x, x), np.dot(y, y), np.dot(change, change))
        if math.isfinite(squares[1] + squares[2]):  # float64 holds the square of every finite float32
            sums += squares
            largest = max(largest, change.max(), -change.min())
            changed += int(np.count_nonzero(a != b))
        else:
            not_finite += int(np.count_nonzero(~(np.isfinite(a) & np.isfinite(b))))
            changed += int(np.count_nonzero((a != b) & ~(np.isnan(a) & np.isnan(b))))
    product, first_square, second_square, change_square = map(float, sums)
    return Drift(stop - start, changed, not_finite, float(largest), product, first_square, second_square, change_square)
