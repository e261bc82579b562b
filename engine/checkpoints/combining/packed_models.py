"""Packed models: parameters in few bits that give float32 back.  `number_formats` has the precisions themselves.

A packed model is a set of plain tensors: the parameter's own name holds its codes, `<name>.scale` its scales, and the
file's metadata say which precision each parameter has. float32, float16 and bfloat16 need neither, so transformers
reads such files. Packing what was unpacked gives the same bytes, in every precision.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import ml_dtypes
import numpy as np

from engine.checkpoints.combining.number_formats import (
    PRECISIONS,
    Parts,
    Precision,
    Shape,
    packed_bytes,
    precision_named,
    precision_of,
)
from engine.errors import CheckpointError
from engine.model.architectures.architecture import Architecture
from engine.safe_reading import DAMAGED, parse_json
from engine.tensor_file import TensorFile, TensorSource, as_float32, piece_rows, pieces_of, type_name

__all__ = [
    "PRECISIONS",
    "PackedModel",
    "PackedSource",
    "PackedTensor",
    "logical_shapes",
    "open_packed",
    "pack_model",
    "pack_tensor",
    "packed_bytes",
    "precision_named",
    "precision_of",
    "precisions_of",
    "unpack",
    "unpack_pieces",
]

METADATA_PRECISION, METADATA_TENSORS = "codecoil.precision", "codecoil.tensors"
MAX_METADATA_BYTES = 8 << 20
SAFELY_SMALL = 60000.0  # no precision overflows below this: float16 holds it


@dataclass(frozen=True)
class PackedTensor:
    """One parameter: its precision, the shape it unpacks to, and its parts."""

    precision: str
    shape: Shape
    parts: Parts = field(repr=False)

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in self.parts.values())

    def unpack(self) -> np.ndarray:
        """float32; for float32 the stored array itself."""
        with np.errstate(over="ignore", invalid="ignore"):
            return PRECISIONS[self.precision].unpack(self.parts)


def pack_tensor(name: str, array: np.ndarray, precision: Precision) -> PackedTensor:
    """A parameter, or rows of it, in this precision; refused by name if that cannot represent its values."""
    array = as_float32(array)
    shape = tuple(array.shape)
    if precision.name == "float32":
        return PackedTensor("float32", shape, {"": array})
    array = np.ascontiguousarray(array)
    largest = max(float(array.max()), -float(array.min()))
    if not math.isfinite(largest):
        raise CheckpointError(f"{name} holds NaN or infinite values.", "The model is damaged.")
    packed = PackedTensor(precision.name, shape, precision.pack(array))
    if largest > SAFELY_SMALL and not np.isfinite(packed.unpack()).all():
        raise CheckpointError(
            f"{name} holds {largest:.3g}, which {precision.name} cannot represent.", "Choose bfloat16 or float32."
        )
    return packed


class PackedModel(Mapping[str, np.ndarray]):
    """Packed parameters by name; `model[name]` unpacks one to float32 (for float32: a view, not to be written to)."""

    def __init__(self, precision: str, packed: dict[str, PackedTensor]) -> None:
        self.precision, self.packed = precision, packed

    def __getitem__(self, name: str) -> np.ndarray:
        array = self.packed[name].unpack()
        if self.packed[name].precision != "float32" and not np.isfinite(array).all():
            raise CheckpointError(f"{name} holds invalid codes or scales.", DAMAGED)
        return array

    def __iter__(self) -> Iterator[str]:
        return iter(self.packed)

    def __len__(self) -> int:
        return len(self.packed)

    @property
    def nbytes(self) -> int:
        """Bytes of all tensors: `packed_bytes` of their shapes."""
        return sum(tensor.nbytes for tensor in self.packed.values())

    @property
    def tensors(self) -> dict[str, np.ndarray]:
        """What goes into a safetensors file."""
        return {_key(name, part): array for name, tensor in self.packed.items() for part, array in tensor.parts.items()}

    @property
    def metadata(self) -> dict[str, str]:
        """What goes into its header."""
        return _metadata(self.precision, {name: (one.precision, one.shape) for name, one in self.packed.items()})


def pack_model(parameters: Mapping[str, np.ndarray], config: Architecture, wanted: str) -> PackedModel:
    """Every parameter in the precision that it gets in a model of precision `wanted`."""
    precisions = precisions_of(config, wanted)
    return PackedModel(wanted, {name: pack_tensor(name, parameters[name], one) for name, one in precisions.items()})


def precisions_of(config: Architecture, wanted: str) -> dict[str, Precision]:
    """What every parameter gets in a model of precision `wanted`."""
    return {name: PRECISIONS[precision_of(spec, wanted)] for name, spec in config.specs.items()}


class PackedSource(TensorSource):
    """The tensors of a safetensors file that holds `parameters` in precision `wanted`, packed when they are read.

    What needs no scales is packed a piece at a time; the others are held, packed, until all their parts are read.
    """

    def __init__(self, parameters: Mapping[str, np.ndarray], config: Architecture, wanted: str) -> None:
        self._parameters, shapes = parameters, config.parameter_shapes()
        self._precisions = precisions_of(config, wanted)
        self._places: dict[str, tuple[str, str]] = {}  # by key in the file: parameter and part
        self.described: dict[str, tuple[str, Shape]] = {}
        for name, precision in self._precisions.items():
            for part, (dtype, shape) in precision.stored(shapes[name]).items():
                self._places[_key(name, part)] = (name, part)
                self.described[_key(name, part)] = (type_name(name, np.dtype(dtype)), shape)
        self.metadata = _metadata(wanted, {name: (self._precisions[name].name, shapes[name]) for name in shapes})
        self._held: dict[str, Parts] = {}

    def __getitem__(self, key: str) -> np.ndarray:
        return np.concatenate(list(self.pieces(key)))

    def pieces(self, key: str) -> Iterator[np.ndarray]:
        name, part = self._places[key]
        precision = self._precisions[name]
        if list(precision.stored((1, precision.block))) == [""]:
            for piece in pieces_of(self._parameters, name):
                yield pack_tensor(name, piece, precision).parts[""]
            return
        parts = self._held.pop(name, None) or dict(pack_tensor(name, self._parameters[name], precision).parts)
        yield parts.pop(part)
        if parts:
            self._held[name] = parts

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def _metadata(wanted: str, described: Mapping[str, tuple[str, Shape]]) -> dict[str, str]:
    """What goes into the header of a packed file."""
    tensors = {name: [precision, list(shape)] for name, (precision, shape) in described.items()}
    return {
        "format": "pt",  # transformers asks for it
        METADATA_PRECISION: wanted,
        METADATA_TENSORS: json.dumps(tensors, ensure_ascii=False, separators=(",", ":")),
    }


# ---- reading


def open_packed(tensors: Mapping[str, np.ndarray], metadata: Mapping[str, str], where: str) -> PackedModel:
    """A packed model from the tensors and metadata of a file; everything is checked, nothing is unpacked yet.

    A file without our metadata may hold float32, float16 and bfloat16.
    """
    if METADATA_TENSORS not in metadata:
        return PackedModel("float32", {name: _as_found(name, array, where) for name, array in tensors.items()})
    wanted = precision_named(metadata.get(METADATA_PRECISION)).name
    described = _described(metadata[METADATA_TENSORS], where)
    packed = {name: _packed(tensors, name, *described[name], where) for name in described}
    used = {_key(name, part) for name, tensor in packed.items() for part in tensor.parts}
    extra = sorted(tensors.keys() - used)
    if extra:
        raise CheckpointError(f"{where} holds tensors that do not belong to any parameter: {extra[:3]!a}.", DAMAGED)
    return PackedModel(wanted, packed)


def logical_shapes(file: TensorFile) -> dict[str, Shape]:
    """The shapes that the parameters of a packed file unpack to."""
    return {name: tensor.shape for name, tensor in open_packed(file, file.metadata, str(file.path)).packed.items()}


def unpack(file: TensorFile, name: str) -> np.ndarray:
    """One parameter of a packed file, float32."""
    described = _described(file.metadata.get(METADATA_TENSORS, "{}"), str(file.path))
    if name not in described:
        raise CheckpointError(f"{file.path} holds no {ascii(name)[:80]}.", DAMAGED)
    tensor = _packed(file, name, *described[name], str(file.path))
    return PackedModel(tensor.precision, {name: tensor})[name]


def unpack_pieces(file: TensorFile, name: str) -> Iterator[np.ndarray]:
    """The rows of one parameter of a packed file, float32, a piece at a time; its pages are released at the end."""
    described = _described(file.metadata.get(METADATA_TENSORS, "{}"), str(file.path))
    if name not in described:
        raise CheckpointError(f"{file.path} holds no {ascii(name)[:80]}.", DAMAGED)
    tensor = _packed(file, name, *described[name], str(file.path))
    rows = tensor.shape[0]
    step = piece_rows(4 * math.prod(tensor.shape[1:]))
    for first in range(0, rows, step):
        parts = {key: part[first : first + step] if len(part) == rows else part for key, part in tensor.parts.items()}
        piece = PackedTensor(tensor.precision, (min(step, rows - first), *tensor.shape[1:]), parts)
        yield PackedModel(tensor.precision, {name: piece})[name]
    for part in tensor.parts:
        file.forget(_key(name, part))


@lru_cache(maxsize=8)  # a model is read one parameter at a time
def _described(text: str, where: str) -> dict[str, tuple[Precision, Shape]]:
    """Precision and shape by name, from the metadata."""
    described = parse_json(text.encode("utf-8", "replace"), f"The metadata of {where}", MAX_METADATA_BYTES, 4)
    if not isinstance(described, dict):
        raise CheckpointError(f"The metadata of {where} does not list its tensors.", DAMAGED)
    return {name: _description(name, description, where) for name, description in described.items()}


def _description(name: str, description: Any, where: str) -> tuple[Precision, Shape]:
    if not isinstance(description, list) or len(description) != 2 or not isinstance(description[1], list):
        raise CheckpointError(f"The metadata of {where} does not describe {ascii(name)[:80]}.", DAMAGED)
    precision, shape = precision_named(description[0]), tuple(description[1])
    whole = all(type(size) is int and 0 <= size < 1 << 46 for size in shape) and len(shape) <= 8
    if not whole or (
        precision.name != "float32" and (len(shape) not in (2, 3) or 0 in shape or shape[-1] % precision.block)
    ):
        raise CheckpointError(f"The metadata of {where} gives {ascii(name)[:80]} an impossible shape.", DAMAGED)
    return precision, shape


def _packed(
    tensors: Mapping[str, np.ndarray], name: str, precision: Precision, shape: Shape, where: str
) -> PackedTensor:
    """The parts of one parameter, each of the type and shape that its precision wants."""
    parts = {}
    for part, (dtype, stored) in precision.stored(shape).items():
        key = _key(name, part)
        array = tensors.get(key)
        if array is None or array.dtype != dtype or tuple(array.shape) != stored:
            found = "is missing" if array is None else f"is {array.dtype} {tuple(array.shape)}"
            raise CheckpointError(
                f"{where}: {key!a} {found}; {np.dtype(dtype)} {stored} is expected for {precision.name}.", DAMAGED
            )
        parts[part] = array
    return PackedTensor(precision.name, shape, parts)


def _key(name: str, part: str) -> str:
    return f"{name}.{part}" if part else name


_FOUND = {np.dtype(np.float32): "float32", np.dtype(np.float16): "float16", np.dtype(ml_dtypes.bfloat16): "bfloat16"}


def _as_found(name: str, array: np.ndarray, where: str) -> PackedTensor:
    if array.dtype not in _FOUND:
        raise CheckpointError(f"{where}: {name!a} is stored as {array.dtype}.", "This is not a packed model.")
    return PackedTensor(_FOUND[array.dtype], tuple(array.shape), {"": array})
