"""Folders in Hugging Face format: `config.json` beside `model.safetensors`, in one file or in shards.

This is the only reader of such folders: loading, importing and `--base FOLDER` all come here. Sizes, names, shapes and
types are checked before anything is allocated; numbers are checked when they are read, a piece of a tensor at a time.
float32, float16 and bfloat16 are read, a tied or a separate head, and both spellings of the embedding's name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from engine.atomic_file import replace_file, replacing
from engine.errors import CheckpointError, CodecoilError
from engine.model.architectures.architecture import Architecture
from engine.model.architectures.reading import config_from
from engine.safe_reading import DAMAGED, read_json
from engine.tensor_file import TensorFile, TensorSource, as_float32, new_file, not_finite

WEIGHTS_FILE, INDEX_FILE, CONFIG_FILE = "model.safetensors", "model.safetensors.index.json", "config.json"
OTHER_SPELLINGS = {"backbone.embedding.weight": "backbone.embeddings.weight"}  # state-spaces' own
READABLE = {"F32": "float32", "BF16": "bfloat16", "F16": "float16"}
METADATA = {"format": "pt"}  # transformers reads no file without it
MAX_LAYERS, MAX_SIZE, MAX_SHARDS = 4096, 1 << 31, 1024
MISMATCH = "The files do not belong to this config.json."


# ---- configuration


def read_config(folder: Path) -> Architecture:
    """The configuration of a model folder."""
    return read_config_file(_real(folder / CONFIG_FILE))


def read_config_file(path: Path) -> Architecture:
    """The configuration in a `config.json`."""
    keys = read_json(path)
    if not isinstance(keys, dict):
        raise CheckpointError(f"{path} is not a JSON object.", "Choose another folder.")
    return config_from_keys(keys, str(path))


def config_from_keys(keys: dict[str, Any], where: str) -> Architecture:
    """`config_from` for keys of unknown origin, with limits on every size; `where` names the file."""
    try:
        config = config_from(keys)
    except CodecoilError as error:
        raise CheckpointError(f"{where}: {error.message}", error.remedy or "Choose another model.") from error
    except (TypeError, ValueError, OverflowError, AttributeError, ZeroDivisionError) as error:
        raise CheckpointError(f"{where} is not a model configuration: {str(error)[:200]}.", DAMAGED) from error
    sizes = [value for value in vars(config).values() if isinstance(value, int)]
    if config.num_hidden_layers > MAX_LAYERS or max(sizes) > MAX_SIZE:
        raise CheckpointError(f"{where} describes a model of impossible size.", DAMAGED)
    return config


# ---- weights


class FolderParameters(TensorSource):
    """Parameters by our names, in the type they are stored in.  Names, shapes and types are checked on opening."""

    def __init__(self, folder: Path, config: Architecture) -> None:
        self.folder, self.config, self._shapes = folder, config, config.parameter_shapes()
        self.files = [TensorFile(path) for path in _weight_files(folder)]
        self._found: dict[str, tuple[TensorFile, str]] = {}
        for file in self.files:
            for stored in file:
                name = OTHER_SPELLINGS.get(stored, stored)
                if name in self._found:
                    raise CheckpointError(f"{folder} holds {stored} twice.", MISMATCH)
                self._found[name] = (file, stored)
        self._check_names()
        self.precision = self._check_tensors()

    def _check_names(self) -> None:
        missing = sorted(self._shapes.keys() - self._found.keys())
        tied = {self.config.head_name} if self.config.tie_word_embeddings else set()
        extra = sorted(self._found.keys() - self._shapes.keys() - tied)
        problems = [
            f"{what}: {', '.join(names[:5])}{f' and {len(names) - 5} more' if len(names) > 5 else ''}"
            for what, names in (("missing", missing), ("unexpected", extra))
            if names
        ]
        if problems:
            raise CheckpointError(f"{self.folder}: {'; '.join(problems)}.", MISMATCH)

    def _check_tensors(self) -> str:
        """The narrowest precision that loses nothing."""
        kinds = set()
        for name, shape in self._shapes.items():
            file, stored = self._found[name]
            entry = file.entries[stored]
            if entry.shape != shape:
                raise CheckpointError(
                    f"{self.folder}: {stored} has shape {entry.shape}; config.json wants {shape}.", MISMATCH
                )
            if entry.dtype not in READABLE:
                raise CheckpointError(
                    f"{self.folder}: {stored} is stored as {entry.dtype}.",
                    "Only float32, float16 and bfloat16 can be read.",
                )
            if self.config.specs[name].packs:
                kinds.add(READABLE[entry.dtype])
        return kinds.pop() if len(kinds) == 1 else "float32"

    def has_other_head(self) -> bool:
        """Whether a tied model comes with a head that differs from its embedding."""
        head, table = self.config.head_name, self.config.embedding_name
        if head not in self._found or head in self._shapes:
            return False
        (file, stored), (other, embedding) = self._found[head], self._found[table]
        if file.entries[stored].shape != self._shapes[table]:
            return True
        if file.entries[stored].dtype == other.entries[embedding].dtype:
            pairs = zip(file.pieces(stored), other.pieces(embedding), strict=True)
            return not all(np.array_equal(a, b) for a, b in pairs)
        return not np.array_equal(file[stored], other[embedding])

    def __getitem__(self, name: str) -> np.ndarray:
        file, stored = self._place(name)
        array = file[stored]
        self._check_finite(stored, not_finite(array))
        return array

    def pieces(self, name: str) -> Iterator[np.ndarray]:
        file, stored = self._place(name)
        for piece in file.pieces(stored):
            self._check_finite(stored, not_finite(piece))
            yield piece

    def forget(self, name: str) -> None:
        file, stored = self._place(name)
        file.forget(stored)

    def _place(self, name: str) -> tuple[TensorFile, str]:
        if name not in self._shapes:
            raise KeyError(name)
        return self._found[name]

    def _check_finite(self, stored: str, bad: int) -> None:
        if bad:
            raise CheckpointError(f"{self.folder}: {stored} holds {bad} NaN or infinite values.", "It is damaged.")

    def __contains__(self, name: object) -> bool:  # Mapping's own would read the tensor
        return name in self._shapes

    def __iter__(self) -> Iterator[str]:
        return iter(self._shapes)

    def __len__(self) -> int:
        return len(self._shapes)


def _weight_files(folder: Path) -> list[Path]:
    if (folder / WEIGHTS_FILE).exists():
        return [_real(folder / WEIGHTS_FILE)]
    if not (folder / INDEX_FILE).exists():
        raise CheckpointError(
            f"{folder} holds no {WEIGHTS_FILE}.",
            "Choose a folder in Hugging Face format with safetensors (pickled .bin files are never read).",
        )
    index = read_json(_real(folder / INDEX_FILE), 16 << 20)
    weight_map = index.get("weight_map") if isinstance(index, dict) else None
    if not isinstance(weight_map, dict) or not all(isinstance(name, str) for name in weight_map.values()):
        raise CheckpointError(f"{folder / INDEX_FILE} has no weight_map.", "Copy or download the file again.")
    names = sorted(set(weight_map.values()))
    if len(names) > MAX_SHARDS or any(
        Path(name).name != name or "\\" in name or "\0" in name or not name.endswith(".safetensors") for name in names
    ):
        raise CheckpointError(
            f"{folder / INDEX_FILE} names files that cannot be parts of a model.", "Do not use this model."
        )
    return [_real(folder / name) for name in names]


def _real(path: Path) -> Path:
    """Where a file is: a folder that the user names may hold links (Hugging Face's own cache is made of them)."""
    try:
        return path.resolve(strict=True)
    except (OSError, RuntimeError, ValueError) as error:
        cause = getattr(error, "strerror", None) or str(error)
        raise CheckpointError(
            f"{path} cannot be read: {cause}.", "Choose a model folder in Hugging Face format."
        ) from error


# ---- writing


def write_model(folder: Path, config: Architecture, parameters: Mapping[str, np.ndarray]) -> None:
    """Write a folder that `load_model` and transformers read, in float32; each file appears whole or not at all."""
    keys = {**config.to_hugging_face(), "dtype": "float32"}
    keys.pop("torch_dtype", None)  # the older name of the same key, with what the file was before
    layout = new_file({name: ("F32", shape) for name, shape in config.parameter_shapes().items()}, METADATA)
    try:
        with replacing(folder / WEIGHTS_FILE) as file:
            file.write(layout.start)
            for name in layout.order:
                file.write(np.ascontiguousarray(as_float32(parameters[name])).data)
        replace_file(folder / CONFIG_FILE, json.dumps(keys, indent=2, sort_keys=True) + "\n")
    except OSError as error:
        raise CheckpointError(
            f"{folder} cannot be written: {error.strerror or error}.", "Choose another folder or free some disk space."
        ) from error
