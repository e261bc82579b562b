"""Deltas: only what a training mode changed.

A delta is a list of parts and the tensors that they name. Rows replace rows, bit for bit; a low-rank pair is added:

    rows          parameter[first:last] = tensor
    indexed_rows  parameter[index]      = tensor
    low_rank      parameter            += scale * up @ down      down: (r, in)  up: (out, r)

Nothing here knows of files: `store` keeps the parts in the manifest and the tensors in `delta.safetensors`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from engine.errors import CheckpointError
from engine.model.architectures.architecture import Architecture
from engine.model.modes import ADAPTER_MODES, FEW_PARAMETER_MODES
from engine.model.selection import adapter_names, selected_rows

MAX_KEY, MAX_SCALE = 512, 1e30
_USED = {
    "rows": ("parameter", "first", "last", "tensor"),
    "indexed_rows": ("parameter", "index", "tensor"),
    "low_rank": ("parameter", "down", "up", "scale"),
}


@dataclass(frozen=True)
class DeltaPart:
    """One change of one parameter; `tensor`, `index`, `down` and `up` are keys of the delta's tensors."""

    kind: str
    parameter: str
    first: int = 0
    last: int = 0
    tensor: str = ""
    index: str = ""
    down: str = ""
    up: str = ""
    scale: float = 1.0

    def __post_init__(self) -> None:
        kind, scale = self.kind, self.scale
        keys = self.keys if isinstance(kind, str) and kind in _USED else ()
        for key in (self.parameter, *keys):
            if type(key) is not str or not 0 < len(key) <= MAX_KEY:
                raise CheckpointError("A part of the delta names no parameter or no tensor.")
        if not keys or type(self.first) is not int or type(self.last) is not int or type(scale) not in (int, float):
            raise CheckpointError("A part of the delta is of an unknown kind.")
        if not 0 <= self.first <= self.last < 1 << 53 or not -MAX_SCALE <= scale <= MAX_SCALE:
            raise CheckpointError(f"The delta's part for {self.parameter} has impossible rows or an impossible scale.")

    def to_json(self) -> list[Any]:
        """Its kind and what that kind uses: ["rows", parameter, first, last, tensor] and so on."""
        return [self.kind, *(getattr(self, name) for name in _USED[self.kind])]

    @classmethod
    def from_json(cls, content: Any) -> DeltaPart:
        try:
            return _interned(*content)
        except (TypeError, ValueError, KeyError) as error:  # not a list, of another length, or of unknown kind
            raise CheckpointError("A part of the delta has an invalid description.") from error

    @property
    def keys(self) -> tuple[str, ...]:
        """The tensors that this part needs."""
        if self.kind == "rows":
            return (self.tensor,)
        return (self.index, self.tensor) if self.kind == "indexed_rows" else (self.down, self.up)


@lru_cache(16_384, typed=True)
def _interned(kind: str, *values: Any) -> DeltaPart:
    """Checkpoints of one model share their parts: a thousand of them need not check each part a thousand times."""
    return DeltaPart(kind, **dict(zip(_USED[kind], values, strict=True)))


@dataclass(frozen=True)
class Delta:
    """Parts and their tensors by key: float32, the index of rows int32."""

    parts: tuple[DeltaPart, ...]
    tensors: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.tensors.values())


# ---- making


def make_delta(
    mode: str,
    config: Architecture,
    parameters: Mapping[str, np.ndarray],
    adapters: Mapping[str, np.ndarray] | None = None,
    scale: float = 1.0,
    token_ids: np.ndarray | None = None,
) -> Delta:
    """What `mode` trains, read from a model's parameters and adapters.

    "wsla", "qk": the rows that these train.  "lora", "vocabulary": the low-rank pairs, times `scale`.  And the
    embedding rows of `token_ids`, if any were trained; "vocabulary" always trains some.
    """
    if mode not in (*FEW_PARAMETER_MODES, *ADAPTER_MODES):
        raise CheckpointError(f"Mode {mode!r} does not produce a delta.", "Save the full model, or use `difference`.")
    if mode == "vocabulary" and token_ids is None:
        raise CheckpointError("The delta of mode vocabulary needs the ids whose rows were trained.")
    delta = _low_rank(config, adapters or {}, scale) if mode in ADAPTER_MODES else _rows(config, mode, parameters)
    if token_ids is None:
        return delta
    rows = np.unique(np.asarray(token_ids)).astype(np.int64)
    if rows.size and not 0 <= rows[0] <= rows[-1] < config.vocab_size:
        raise CheckpointError(f"Token ids lie between {rows[0]} and {rows[-1]}; the model has {config.vocab_size}.")
    part, tensors = _indexed(config.embedding_name, rows, parameters[config.embedding_name])
    return Delta((*delta.parts, part), {**delta.tensors, **tensors})


def difference(base: Mapping[str, np.ndarray], changed: Mapping[str, np.ndarray], config: Architecture) -> Delta:
    """The rows, compared bit by bit, that differ between two models of one configuration."""
    parts: list[DeltaPart] = []
    tensors: dict[str, np.ndarray] = {}
    for name in config.parameter_shapes():
        before, after = _float32(base[name]), _float32(changed[name])
        if before.shape != after.shape:
            raise CheckpointError(f"{name} has shape {before.shape} in one model and {after.shape} in the other.")
        unequal = before.view(np.uint32) != after.view(np.uint32)
        rows = np.flatnonzero(unequal.reshape(unequal.shape[0], -1).any(axis=1))
        if not rows.size:
            continue
        first, last = int(rows[0]), int(rows[-1]) + 1
        if last - first == rows.size:
            parts.append(DeltaPart("rows", name, first=first, last=last, tensor=name))
            tensors[name] = after[first:last].copy()
        else:
            part, own = _indexed(name, rows, after)
            parts.append(part)
            tensors.update(own)
    return Delta(tuple(parts), tensors)


def _rows(config: Architecture, mode: str, parameters: Mapping[str, np.ndarray]) -> Delta:
    parts, tensors = [], {}
    for name, (first, last) in selected_rows(config, mode, {}).items():
        parts.append(DeltaPart("rows", name, first=first, last=last, tensor=name))
        tensors[name] = _float32(parameters[name][first:last])
    return Delta(tuple(parts), tensors)


def _low_rank(config: Architecture, adapters: Mapping[str, np.ndarray], scale: float) -> Delta:
    parts, tensors = [], {}
    for name in config.parameter_shapes():
        down, up = adapter_names(name)
        if down in adapters:
            parts.append(DeltaPart("low_rank", name, down=down, up=up, scale=float(scale)))
            tensors[down], tensors[up] = _float32(adapters[down]), _float32(adapters[up])
    if not parts:
        raise CheckpointError("The model has no adapters, so there is no delta to save.")
    return Delta(tuple(parts), tensors)


def _indexed(name: str, rows: np.ndarray, array: np.ndarray) -> tuple[DeltaPart, dict[str, np.ndarray]]:
    index, tensor = f"{name}.index", f"{name}.rows"
    part = DeltaPart("indexed_rows", name, index=index, tensor=tensor)
    return part, {index: rows.astype(np.int32), tensor: _float32(array[rows])}


# ---- applying


def apply_delta(
    parameters: Iterable[tuple[str, np.ndarray]], parts: Iterable[DeltaPart], tensors: Mapping[str, np.ndarray]
) -> Iterator[tuple[str, np.ndarray]]:
    """The parameters of a base, in float32, with the parts applied in order."""
    by_name = parts_by_parameter(parts)
    for name, array in parameters:
        own = by_name.pop(name, ())
        yield name, apply_parts(array, own, tensors) if own else _float32(array)
    if by_name:
        raise CheckpointError(f"The delta changes {next(iter(by_name))}, which its base does not have.")


def parts_by_parameter(parts: Iterable[DeltaPart]) -> dict[str, list[DeltaPart]]:
    found: dict[str, list[DeltaPart]] = {}
    for part in parts:
        found.setdefault(part.parameter, []).append(part)
    return found


def apply_parts(array: np.ndarray, parts: Iterable[DeltaPart], tensors: Mapping[str, np.ndarray]) -> np.ndarray:
    """A float32 copy of one parameter with its parts applied."""
    result = np.array(array, np.float32)
    for part in parts:
        check_part(part, result.shape, {key: tensors[key].shape for key in part.keys if key in tensors})
        if part.kind == "rows":
            result[part.first : part.last] = tensors[part.tensor]
        elif part.kind == "indexed_rows":
            result[checked_rows(part, tensors, len(result))] = tensors[part.tensor]
        else:
            up, down = _float32(tensors[part.up]), _float32(tensors[part.down])
            result += np.float32(part.scale) * (up @ down)
    return result


def replace_rows(
    piece: np.ndarray, parts: Iterable[DeltaPart], tensors: Mapping[str, np.ndarray], first: int, shape: tuple[int, ...]
) -> np.ndarray:
    """Rows of a parameter of `shape`, from row `first` on, with the rows in `parts` replaced."""
    result = np.array(piece, np.float32)
    last = first + len(piece)
    for part in parts:
        check_part(part, shape, {key: tensors[key].shape for key in part.keys if key in tensors})
        if part.kind == "rows":
            start, stop = max(first, part.first), min(last, part.last)
            if start < stop:
                result[start - first : stop - first] = tensors[part.tensor][start - part.first : stop - part.first]
        else:
            rows = checked_rows(part, tensors, shape[0])
            here = np.flatnonzero((rows >= first) & (rows < last))
            result[rows[here] - first] = tensors[part.tensor][here]
    return result


def checked_rows(part: DeltaPart, tensors: Mapping[str, np.ndarray], count: int) -> np.ndarray:
    """The row numbers of an `indexed_rows` part of a parameter with `count` rows."""
    rows = np.asarray(tensors[part.index])
    if rows.dtype.kind not in "iu":
        raise CheckpointError(f"The delta's row numbers for {part.parameter} are not integers.")
    if rows.size and not (rows.min() >= 0 and rows.max() < count):
        raise CheckpointError(f"The delta changes a row of {part.parameter} that does not exist.")
    return rows


def check_part(part: DeltaPart, shape: tuple[int, ...], found: Mapping[str, tuple[int, ...]]) -> None:
    """Check that a part fits its parameter, from shapes alone.  `found`: shapes of the delta's tensors by key."""
    missing = [key for key in part.keys if key not in found]
    if missing:
        raise CheckpointError(f"The delta has no tensor {missing[0]!r}.", "The checkpoint is damaged.")
    if part.kind == "rows":
        expected = {part.tensor: (part.last - part.first, *shape[1:])}
        if part.last > shape[0]:
            raise CheckpointError(f"The delta changes row {part.last - 1} of {part.parameter}, which has {shape[0]}.")
    elif part.kind == "indexed_rows":
        count = math.prod(found[part.index])
        expected = {part.index: (count,), part.tensor: (count, *shape[1:])}
    else:
        if len(shape) != 2 or len(found[part.down]) != 2:
            raise CheckpointError(f"{part.parameter} is not a matrix, so no low-rank pair can be added to it.")
        rank = found[part.down][0]
        expected = {part.down: (rank, shape[1]), part.up: (shape[0], rank)}
    for key, wanted in expected.items():
        if tuple(found[key]) != wanted:
            raise CheckpointError(f"The delta's tensor {key} has shape {tuple(found[key])}; {wanted} is needed.")


def _float32(array: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(array, np.float32)
