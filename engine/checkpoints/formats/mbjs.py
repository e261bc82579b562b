"""MBJS, the weights file of Codecoil's predecessor: import only.

Little-endian: magic, version, [layer kinds from version 2 on], number of tensors, how many numbers each has, the
numbers (float32; float16 in version 3), and sometimes a CRC-32 at the end. Names and shapes are not in the file: the
order is fixed, and the sizes follow from the counts.

What differs from our model:
  - taps of the convolution are in reverse order: reversed;
  - biases on in_proj and out_proj: kept (`use_bias`) unless all are zero;
  - bias on x_proj: its part for delta is folded into dt_proj's bias, which is exact; its part for B and C has no
    counterpart here and is refused unless it is zero;
  - B was discretised exactly (zero-order hold), here by delta * B: a note says so, because the numbers differ.
"""

from __future__ import annotations

import math
import mmap
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from engine.checkpoints.formats.imported import Imported, check_finite, tokenizer_content
from engine.errors import CheckpointError, ConfigError
from engine.model.config import ModelConfig
from engine.model.files import MAX_LAYERS
from engine.safe_reading import open_plain
from engine.tensor_file import TensorSource

MAGIC, CRC_MAGIC, TRAILER = 0x4D424A53, 0x52435645, 8
LAYER_KINDS = ("mamba1", "mamba2", "mamba3", "attention")
EPSILON = 1e-6  # of its norms; ours has 1e-5 unless the configuration says otherwise
OURS = {  # the tensors of a block, in the order of the file
    "wInProj": "mixer.in_proj.weight",
    "bInProj": "mixer.in_proj.bias",
    "wConv": "mixer.conv1d.weight",
    "bConv": "mixer.conv1d.bias",
    "wXProj": "mixer.x_proj.weight",
    "bXProj": "",
    "wDtProj": "mixer.dt_proj.weight",
    "bDtProj": "mixer.dt_proj.bias",
    "A_log": "mixer.A_log",
    "D_vec": "mixer.D",
    "wOutProj": "mixer.out_proj.weight",
    "bOutProj": "mixer.out_proj.bias",
    "normWeight": "norm.weight",
}
NOTES = (
    "MBJS discretises B exactly (zero-order hold); this engine uses delta * B, as published Mamba weights do. The"
    " same weights therefore score differently here until they are trained further.",
    "The convolution's taps were reversed, because MBJS stores them backwards.",
)
DAMAGED = "Copy the file again."


def is_mbjs(path: Path) -> bool:
    """Whether a file starts with the magic bytes of MBJS."""
    try:
        with path.open("rb") as file:
            return file.read(4) == MAGIC.to_bytes(4, "little")
    except OSError:
        return False


def read_mbjs(path: Path, tokenizer: Path | None = None) -> Imported:
    """The model in an MBJS file of version 1, 2 or 3.  The file has no tokenizer: `tokenizer` says where one is."""
    file = MbjsFile(path)
    config, folded, notes = _config(file)
    content = tokenizer_content(tokenizer, config.vocab_size) if tokenizer is not None else None
    if content is None:
        notes.append("MBJS files hold no tokenizer.")
    precision = "float16" if file.dtype == np.float16 and not folded else "float32"
    return Imported(config, MbjsParameters(file, config, folded), content, precision, str(path), (*NOTES, *notes))


class MbjsFile:
    """A mapped MBJS file: header and CRC checked, every tensor a flat view by its MBJS name."""

    def __init__(self, path: Path) -> None:
        self.path, self._at = path, 0
        descriptor = open_plain(path)
        try:
            self._size = os.fstat(descriptor).st_size
            self._map = mmap.mmap(descriptor, self._size, access=mmap.ACCESS_READ) if self._size else b""
        except (OSError, ValueError) as error:
            raise CheckpointError(f"{path} cannot be read: {error}.") from error
        finally:
            os.close(descriptor)
        if self._number("magic") != MAGIC:
            raise CheckpointError(f"{path} is not an MBJS file.", "Choose another file.")
        if (version := self._number("version")) not in (1, 2, 3):
            raise CheckpointError(f"{path} is MBJS version {version}; versions 1 to 3 can be read.")
        self.dtype = np.dtype("<f2" if version == 3 else "<f4")
        stated = self._layer_kinds() if version > 1 else None
        tensors = self._number("number of tensors")
        self.layers, over = divmod(tensors - 2, len(OURS))
        if self._at + 4 * tensors > self._size:
            raise CheckpointError(f"{path} claims {tensors} tensors, for which it has no room.", DAMAGED)
        if over or not 1 <= self.layers <= MAX_LAYERS or stated not in (None, self.layers):
            here = "" if stated is None else f" ({stated} here)"
            raise CheckpointError(
                f"{path} has {tensors} tensors; a model has 2 and {len(OURS)} for every layer{here}.", DAMAGED
            )
        counts = struct.unpack_from(f"<{tensors}I", self._map, self._at)
        names = ["embedding", *(f"block{i}.{name}" for i in range(self.layers) for name in OURS), "final_norm"]
        self.counts = dict(zip(names, counts, strict=True))
        self._starts, at = {}, self._at + 4 * tensors
        for name, count in self.counts.items():
            self._starts[name] = at
            at += count * self.dtype.itemsize
        self._check_end(at)

    def __getitem__(self, name: str) -> np.ndarray:
        """A tensor, flat, in float32 or float16; refused unless all its numbers are finite."""
        array = np.frombuffer(self._map, self.dtype, self.counts[name], self._starts[name])
        return check_finite(array, name, str(self.path))

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
                f"{self.path}: layer {kinds.index(other)} is {name}; only mamba1 can be imported.",
                "Export a model of mamba1 layers.",
            )
        self._at += -(-layers // 4) * 4
        return layers

    def _check_end(self, end: int) -> None:
        if self._size not in (end, end + TRAILER):
            raise CheckpointError(f"{self.path} has {self._size} bytes; its header describes {end}.", DAMAGED)
        if self._size == end:
            return
        magic, expected = struct.unpack_from("<II", self._map, end)
        if magic != CRC_MAGIC:
            raise CheckpointError(f"{self.path} does not end in a checksum.", DAMAGED)
        with memoryview(self._map) as view:
            found = zlib.crc32(view[:end])
        if found != expected:
            raise CheckpointError(f"{self.path} is damaged: its checksum is {found:08x}, not {expected:08x}.", DAMAGED)


def _config(file: MbjsFile) -> tuple[ModelConfig, bool, list[str]]:
    """Sizes from the counts of the first block; every other count has to agree with them.

    Also whether a bias of x_proj is to be folded in, and notes.
    """
    hidden, inner = file.counts["final_norm"], file.counts["block0.D_vec"]
    sizes = {
        "hidden_size": hidden,
        "num_hidden_layers": file.layers,
        "vocab_size": _over(file, "embedding", hidden),
        "state_size": _over(file, "block0.A_log", inner),
        "conv_kernel": _over(file, "block0.wConv", inner),
        "intermediate_size": inner,
        "time_step_rank": _over(file, "block0.wDtProj", inner),
        "expand": max(1, inner // max(hidden, 1)),
        "layer_norm_epsilon": EPSILON,
    }
    try:
        config = ModelConfig(**sizes, use_bias=True)
    except ConfigError as error:
        raise CheckpointError(f"{file.path} describes no model: {error.message}", DAMAGED) from error
    shapes, rank = config.parameter_shapes(), config.time_step_rank
    folded = use_bias = False
    for layer in range(file.layers):
        for name, ours in OURS.items():
            shape = shapes[f"backbone.layers.{layer}.{ours}"] if ours else (rank + 2 * config.state_size,)
            if (found := file.counts[f"block{layer}.{name}"]) != math.prod(shape):
                raise CheckpointError(
                    f"{file.path}: block{layer}.{name} has {found} numbers; {math.prod(shape)} are expected.", DAMAGED
                )
        bias = file[f"block{layer}.bXProj"]
        if np.any(bias[rank:]):
            raise CheckpointError(
                f"{file.path}: block{layer}.bXProj adds {np.count_nonzero(bias[rank:])} numbers to B and C.",
                "This engine has no bias there, so the model cannot be imported.",
            )
        folded = folded or bool(np.any(bias))
        use_bias = use_bias or any(np.any(file[f"block{layer}.{name}"]) for name in ("bInProj", "bOutProj"))
    notes = ["The bias of x_proj for delta was added to dt_proj's bias, which computes the same."] if folded else []
    notes += ["It has biases on in_proj and out_proj, which llama.cpp does not support."] if use_bias else []
    return ModelConfig(**sizes, use_bias=use_bias), folded, notes


def _over(file: MbjsFile, name: str, divisor: int) -> int:
    count = file.counts[name]
    if divisor < 1 or count < 1 or count % divisor:
        raise CheckpointError(f"{file.path}: {name} has {count} numbers, which fits no model.", DAMAGED)
    return count // divisor


class MbjsParameters(TensorSource):
    """Parameters by Hugging Face name, in our order of taps."""

    def __init__(self, file: MbjsFile, config: ModelConfig, folded: bool) -> None:
        self._file, self._rank, self._shapes, self._folded = (
            file,
            config.time_step_rank,
            config.parameter_shapes(),
            folded,
        )
        self._names = {"backbone.embeddings.weight": "embedding", "backbone.norm_f.weight": "final_norm"}
        for layer in range(file.layers):
            self._names |= {f"backbone.layers.{layer}.{ours}": f"block{layer}.{name}" for name, ours in OURS.items()}

    def __getitem__(self, name: str) -> np.ndarray:
        stored = self._names[name]
        array = self._file[stored].reshape(self._shapes[name])
        if name.endswith("conv1d.weight"):
            return np.ascontiguousarray(array[:, :, ::-1])
        return self._with_bias(stored.split(".")[0], array) if name.endswith("dt_proj.bias") and self._folded else array

    def _with_bias(self, block: str, bias: np.ndarray) -> np.ndarray:
        """(delta + b) W + b' = delta W + (b W + b')."""
        own = self._file[f"{block}.bXProj"][: self._rank].astype(np.float64)
        weight = self._file[f"{block}.wDtProj"].reshape(-1, self._rank).astype(np.float64)
        with np.errstate(over="ignore"):
            folded = (bias.astype(np.float64) + weight @ own).astype(np.float32)
        return check_finite(folded, f"{block}.bDtProj with bXProj", str(self._file.path))

    def __contains__(self, name: object) -> bool:
        return name in self._shapes

    def __iter__(self) -> Iterator[str]:
        return iter(self._shapes)

    def __len__(self) -> int:
        return len(self._shapes)
