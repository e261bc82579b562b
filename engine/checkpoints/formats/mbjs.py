"""MBJS, the forerunner's file of weights: import only.

Little-endian: magic, version, [layer kinds from version 2 on], how many tensors, how many numbers in each, the numbers
(float32; float16 in version 3), and sometimes a CRC-32 at the end. Names and shapes are not in the file: the order is
fixed, and the sizes follow from the counts.

What differs from the model of this engine, and what becomes of it:
  - taps of the convolution are in reverse order: turned around;
  - biases on in_proj and out_proj: kept (`use_bias`) unless all are zero;
  - bias on x_proj: its part for delta goes into dt_proj's bias, which is exact; its part for B and C has no place here
    and is refused unless it is zero;
  - B was discretised exactly (zero-order hold), here by delta * B: said in the notes, because the numbers differ.
"""

from __future__ import annotations

import mmap
import os
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine.checkpoints.formats.imported import Imported, check_finite, tokenizer_content
from engine.errors import CheckpointError, ConfigError
from engine.model.config import ModelConfig
from engine.model.files import MAX_LAYERS
from engine.safe_reading import open_plain

MAGIC, CRC_MAGIC, TRAILER = 0x4D424A53, 0x52435645, 8
LAYER_KINDS = ("mamba1", "mamba2", "mamba3", "attention")
EPSILON = 1e-6  # of its norms; ours has 1e-5 unless the configuration says otherwise
IN_A_BLOCK = (
    *("wInProj", "bInProj", "wConv", "bConv", "wXProj", "bXProj", "wDtProj", "bDtProj"),
    *("A_log", "D_vec", "wOutProj", "bOutProj", "normWeight"),
)
OURS = {
    "norm.weight": "normWeight",
    "mixer.A_log": "A_log",
    "mixer.D": "D_vec",
    "mixer.conv1d.weight": "wConv",
    "mixer.conv1d.bias": "bConv",
    "mixer.in_proj.weight": "wInProj",
    "mixer.in_proj.bias": "bInProj",
    "mixer.x_proj.weight": "wXProj",
    "mixer.dt_proj.weight": "wDtProj",
    "mixer.dt_proj.bias": "bDtProj",
    "mixer.out_proj.weight": "wOutProj",
    "mixer.out_proj.bias": "bOutProj",
}
NOTES = (
    "MBJS scans with the exact discretisation of B (zero-order hold); this engine uses delta * B, as published Mamba"
    " weights do. The same weights therefore give other scores here until they are trained further.",
    "The convolution's taps were turned around, because MBJS counts them backwards.",
)
DAMAGED = "Copy the file again."


def is_mbjs(path: Path) -> bool:
    """Whether a file begins as MBJS does."""
    try:
        with path.open("rb") as file:
            return file.read(4) == MAGIC.to_bytes(4, "little")
    except OSError:
        return False


def read_mbjs(path: Path, tokenizer: Path | None = None) -> Imported:
    """The model in an MBJS file of version 1, 2 or 3.  The file has no tokenizer: `tokenizer` says where one is."""
    file = MbjsFile(path)
    config, notes = _config(file)
    content = tokenizer_content(tokenizer, config.vocab_size) if tokenizer is not None else None
    if content is None:
        notes.append("MBJS holds no tokenizer, so none came with it.")
    precision = "float16" if file.dtype == np.float16 and not file.folded else "float32"
    return Imported(config, MbjsParameters(file, config), content, precision, str(path), (*NOTES, *notes))


@dataclass(frozen=True)
class _Tensor:
    start: int
    count: int


class MbjsFile:
    """A mapped MBJS file: header and CRC checked, every tensor a flat view by the forerunner's name."""

    def __init__(self, path: Path) -> None:
        self.path, self.folded = path, False
        descriptor = open_plain(path)
        try:
            size = os.fstat(descriptor).st_size
            if size < 16:
                raise CheckpointError(f"{path} is cut off: it has {size} bytes.", DAMAGED)
            self._map = mmap.mmap(descriptor, size, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise CheckpointError(f"{path} cannot be read: {error}.") from error
        finally:
            os.close(descriptor)
        self._size, self._at = size, 0
        if self._number("magic") != MAGIC:
            raise CheckpointError(f"{path} is no MBJS file.", "Choose another file.")
        self.version = self._number("version")
        if self.version not in (1, 2, 3):
            raise CheckpointError(f"{path} is MBJS version {self.version}; 1 to 3 can be read.")
        self.dtype = np.dtype("<f2" if self.version == 3 else "<f4")
        stated = self._layer_kinds() if self.version > 1 else None
        self._index(self._counts(), stated)
        self._check_trailer()

    def __getitem__(self, name: str) -> np.ndarray:
        """A tensor, flat, in float32 or float16."""
        tensor = self._tensors[name]
        return np.frombuffer(self._map, self.dtype, tensor.count, tensor.start)

    def count(self, name: str) -> int:
        return self._tensors[name].count

    def _number(self, what: str) -> int:
        if self._at + 4 > self._size:
            raise CheckpointError(f"{self.path} is cut off before its {what}.", DAMAGED)
        (value,) = struct.unpack_from("<I", self._map, self._at)
        self._at += 4
        return value

    def _layer_kinds(self) -> int:
        layers = self._number("number of layers")
        if not 1 <= layers <= MAX_LAYERS or self._at + layers > self._size:
            raise CheckpointError(f"{self.path} claims {layers} layers.", DAMAGED)
        kinds = self._map[self._at : self._at + layers]
        other = next((kind for kind in kinds if kind != 0), None)
        if other is not None:
            name = LAYER_KINDS[other] if other < len(LAYER_KINDS) else f"kind {other}"
            raise CheckpointError(
                f"{self.path}: layer {kinds.index(other)} is {name}; this engine computes only mamba1.",
                "Export a model of mamba1 layers.",
            )
        self._at += -(-layers // 4) * 4
        return layers

    def _counts(self) -> tuple[int, ...]:
        tensors = self._number("number of tensors")
        if tensors > 2 + len(IN_A_BLOCK) * MAX_LAYERS or self._at + 4 * tensors > self._size:
            raise CheckpointError(f"{self.path} claims {tensors} tensors, for which it has no room.", DAMAGED)
        counts = struct.unpack_from(f"<{tensors}I", self._map, self._at)
        self._at += 4 * tensors
        needed = sum(counts) * self.dtype.itemsize
        left = self._size - self._at
        if left not in (needed, needed + TRAILER):
            raise CheckpointError(f"{self.path} has {left} bytes of weights; its header speaks of {needed}.", DAMAGED)
        return counts

    def _index(self, counts: tuple[int, ...], stated: int | None) -> None:
        layers, over = divmod(len(counts) - 2, len(IN_A_BLOCK))
        if over or layers < 1 or (stated is not None and stated != layers):
            raise CheckpointError(
                f"{self.path} has {len(counts)} tensors; a model has 2 and {len(IN_A_BLOCK)} for every layer"
                + (f" ({stated} here)." if stated is not None else "."),
                DAMAGED,
            )
        self.layers = layers
        names = ["embedding", *(f"block{i}.{name}" for i in range(layers) for name in IN_A_BLOCK), "final_norm"]
        self._tensors, start = {}, self._at
        for name, count in zip(names, counts, strict=True):
            self._tensors[name] = _Tensor(start, count)
            start += count * self.dtype.itemsize
        self._end = start

    def _check_trailer(self) -> None:
        if self._size == self._end:
            return
        magic, expected = struct.unpack_from("<II", self._map, self._end)
        if magic != CRC_MAGIC:
            raise CheckpointError(f"{self.path} ends in something that is no checksum.", DAMAGED)
        with memoryview(self._map) as view:
            found = zlib.crc32(view[: self._end])
        if found != expected:
            raise CheckpointError(f"{self.path} is damaged: its checksum is {found:08x}, not {expected:08x}.", DAMAGED)


def _config(file: MbjsFile) -> tuple[ModelConfig, list[str]]:
    """Sizes from the counts of the first block; every other count has to agree with them."""
    hidden, inner = file.count("final_norm"), file.count("block0.D_vec")
    state = _over(file, "block0.A_log", inner)
    rank = _over(file, "block0.wDtProj", inner)
    sizes = {
        "hidden_size": hidden,
        "num_hidden_layers": file.layers,
        "vocab_size": _over(file, "embedding", hidden),
        "state_size": state,
        "conv_kernel": _over(file, "block0.wConv", inner),
        "intermediate_size": inner,
        "time_step_rank": rank,
        "expand": max(1, inner // max(hidden, 1)),
    }
    expected = {
        "wInProj": 2 * inner * hidden,
        "bInProj": 2 * inner,
        "wConv": sizes["conv_kernel"] * inner,
        "bConv": inner,
        "wXProj": (rank + 2 * state) * inner,
        "bXProj": rank + 2 * state,
        "wDtProj": inner * rank,
        "bDtProj": inner,
        "A_log": inner * state,
        "D_vec": inner,
        "wOutProj": hidden * inner,
        "bOutProj": hidden,
        "normWeight": hidden,
    }
    for layer in range(file.layers):
        for name, count in expected.items():
            found = file.count(f"block{layer}.{name}")
            if found != count:
                raise CheckpointError(
                    f"{file.path}: block{layer}.{name} has {found} numbers; {count} are expected.", DAMAGED
                )
    try:
        return _with_biases(file, sizes, rank)
    except ConfigError as error:
        raise CheckpointError(f"{file.path} describes no model: {error.message}", DAMAGED) from error


def _with_biases(file: MbjsFile, sizes: dict[str, int], rank: int) -> tuple[ModelConfig, list[str]]:
    """The configuration, with use_bias where there are biases; what has no place here is refused by name."""
    notes, use_bias = [], False
    for layer in range(file.layers):
        bias = file[f"block{layer}.bXProj"]
        if np.any(bias[rank:]):
            raise CheckpointError(
                f"{file.path}: block{layer}.bXProj adds {np.count_nonzero(bias[rank:])} numbers to B and C.",
                "This engine has no bias there, so the model cannot be used.",
            )
        file.folded = file.folded or bool(np.any(bias))
        use_bias = use_bias or any(np.any(file[f"block{layer}.{name}"]) for name in ("bInProj", "bOutProj"))
    if file.folded:
        notes.append("The bias of x_proj for delta was added to dt_proj's bias, which computes the same.")
    if use_bias:
        notes.append("It has biases on in_proj and out_proj, which llama.cpp does not compute.")
    return ModelConfig(**sizes, use_bias=use_bias, layer_norm_epsilon=EPSILON), notes


def _over(file: MbjsFile, name: str, divisor: int) -> int:
    count = file.count(name)
    if divisor < 1 or count < 1 or count % divisor:
        raise CheckpointError(f"{file.path}: {name} has {count} numbers, which fits no model.", DAMAGED)
    return count // divisor


class MbjsParameters(Mapping[str, np.ndarray]):
    """Parameters by Hugging Face name, in our order of taps."""

    def __init__(self, file: MbjsFile, config: ModelConfig) -> None:
        self._file, self._rank, self._shapes = file, config.time_step_rank, config.parameter_shapes()

    def __getitem__(self, name: str) -> np.ndarray:
        shape = self._shapes[name]
        if name in ("backbone.embeddings.weight", "backbone.norm_f.weight"):
            stored = "embedding" if name.startswith("backbone.embeddings") else "final_norm"
        else:
            _, _, layer, inner = name.split(".", 3)
            stored = f"block{layer}.{OURS[inner]}"
        array = self._finite(stored).reshape(shape)
        if name.endswith("conv1d.weight"):
            return np.ascontiguousarray(array[:, :, ::-1])
        if name.endswith("dt_proj.bias") and self._file.folded:
            return self._folded(stored.split(".")[0], array)
        return array

    def _folded(self, block: str, bias: np.ndarray) -> np.ndarray:
        """(delta + b) W + b' = delta W + (b W + b')."""
        own = self._finite(f"{block}.bXProj")[: self._rank].astype(np.float64)
        weight = self._finite(f"{block}.wDtProj").reshape(-1, self._rank).astype(np.float64)
        with np.errstate(over="ignore"):
            folded = (bias.astype(np.float64) + weight @ own).astype(np.float32)
        return check_finite(folded, f"{block}.bDtProj with bXProj", str(self._file.path))

    def _finite(self, stored: str) -> np.ndarray:
        return check_finite(self._file[stored], stored, str(self._file.path))

    def __iter__(self) -> Iterator[str]:
        return iter(self._shapes)

    def __len__(self) -> int:
        return len(self._shapes)
