"""Parameters from mapped files: a full model, or a chain of deltas on one, read a tensor at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from engine.checkpoints.store.delta import DeltaPart, apply_parts, check_part, parts_by_parameter, replace_rows
from engine.checkpoints.store.manifest import CONFIG_FILE, Manifest
from engine.errors import CheckpointError
from engine.model.architectures.architecture import Architecture
from engine.model.files import read_config_file
from engine.tensor_file import TensorFile, TensorSource, as_float32, row_pieces

if TYPE_CHECKING:
    from engine.checkpoints.store.reading import StoreReader
    from engine.corpus.tokens.tokenizer import Tokenizer
    from engine.devices import Device
    from engine.model.model import Model

PLAIN_TYPES = ("F32", "F16", "BF16", "F64")


class LoadedParameters(TensorSource):
    """float32 parameters by Hugging Face name, in the order of `config.parameter_shapes()`.

    A float32 tensor that no delta changes is a read-only view of the file: copy it before writing.
    """

    def __init__(self, config: Architecture, base: TensorFile, deltas: list[tuple[tuple[DeltaPart, ...], TensorFile]]):
        """`deltas` in the order in which they are applied."""
        self.config, self.base = config, base
        self._shapes = checked_shapes(base, config)
        self._layers = [(parts_by_parameter(parts), file) for parts, file in deltas]
        for by_name, file in self._layers:
            for part in (part for parts in by_name.values() for part in parts):
                if part.parameter not in self._shapes:
                    raise CheckpointError(f"{file.path} changes {part.parameter}, which the model does not have.")
                shapes = {key: file.entries[key].shape for key in part.keys if key in file.entries}
                check_part(part, self._shapes[part.parameter], shapes)

    def __getitem__(self, name: str) -> np.ndarray:
        array = read_parameter(self.base, name) if name in self._shapes else self._shapes[name]
        for by_name, file in self._layers:
            if name in by_name:
                array = apply_parts(array, by_name[name], file)
        return array

    def pieces(self, name: str) -> Iterator[np.ndarray]:
        """float32 rows; rows that a delta replaces are replaced piece by piece, a low-rank pair needs all of them."""
        changes = [(by_name[name], file) for by_name, file in self._layers if name in by_name]
        if any(part.kind == "low_rank" for parts, _ in changes for part in parts):
            yield from row_pieces(self[name])
            return
        first = 0
        for piece in parameter_pieces(self.base, name):
            for parts, file in changes:
                piece = replace_rows(piece, parts, file, first, self._shapes[name])
            yield piece
            first += len(piece)

    def __contains__(self, name: object) -> bool:  # Mapping's own would read the tensor
        return name in self._shapes

    def __iter__(self) -> Iterator[str]:
        return iter(self._shapes)

    def __len__(self) -> int:
        return len(self._shapes)

    def forget(self, name: str) -> None:
        if name in self.base.entries:
            self.base.forget(name)

    def close(self) -> None:
        """Unmap the files, as soon as no view is left."""
        self.base.close()
        for _, file in self._layers:
            file.close()

    def __enter__(self) -> LoadedParameters:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def load(chain: list[Manifest], folder: Path, pairs: bool = True) -> LoadedParameters:
    """The parameters of `chain`: a checkpoint, its base, and so on; `folder` is the store's.

    `pairs`: with the deltas' low-rank pairs merged in.
    """
    config = read_config_file(folder / chain[0].id / CONFIG_FILE)
    files = []
    for manifest in chain:
        file = TensorFile(folder / manifest.id / manifest.weights_file)
        if file.size != manifest.files[manifest.weights_file].size:
            raise CheckpointError(f"{file.path} has changed size since it was written.", "Verify the checkpoint.")
        files.append(file)
    deltas = [
        (tuple(part for part in manifest.delta if pairs or part.kind != "low_rank"), file)
        for manifest, file in zip(chain, files, strict=True)
    ][:-1]
    return LoadedParameters(config, files[-1], deltas[::-1])


def load_checkpoint(
    store: StoreReader, which: str, device: Device, precision: str = "float32"
) -> tuple[Model, Tokenizer]:
    """A checkpoint as a model on `device`, deltas applied, and its tokenizer.  The model is the caller's to close.

    `precision`: in which the large matrices are kept on the device, whatever they are stored in.
    """
    from engine.corpus.tokens.tokenizer import (
        Tokenizer,  # with the kernels, what takes longest: a listing needs none of it
    )
    from engine.model.model import Model
    from engine.model.storage import Storage

    manifest = store.get(which)
    path = store.tokenizer_path(manifest.id)
    if path is None:
        raise CheckpointError(f"The checkpoint {manifest.name} has no tokenizer.", "Choose another one.")
    tokenizer = Tokenizer.load(path)
    with store.load_parameters(manifest.id) as parameters:
        if not tokenizer.fits(parameters.config.vocab_size):
            raise CheckpointError(
                f"The tokenizer of {manifest.name} has {tokenizer.vocab_size} entries; its model has room for "
                f"{parameters.config.vocab_size}.",
                "Choose another checkpoint.",
            )
        model = Model(parameters.config, device, Storage(precision))
        model.document_end = tokenizer.special.end_of_text
        try:
            model.parameters.fill(parameters)
        except BaseException:
            model.close()
            raise
    return model, tokenizer


@contextmanager
def opened_checkpoint(
    store: StoreReader, which: str, device: Device, precision: str = "float32"
) -> Iterator[tuple[Model, Tokenizer]]:
    """The same for as long as it is needed."""
    model, tokenizer = load_checkpoint(store, which, device, precision)
    try:
        yield model, tokenizer
    finally:
        model.close()


def is_plain(file: TensorFile) -> bool:
    """Whether every tensor is stored under its parameter's name in a float type that needs no unpacking."""
    return all(entry.dtype in PLAIN_TYPES for entry in file.entries.values())


def stored_shapes(file: TensorFile) -> dict[str, tuple[int, ...]]:
    """Shapes by parameter name, packed or not."""
    if is_plain(file):
        return {name: entry.shape for name, entry in file.entries.items()}
    from engine.checkpoints.combining import packed_models  # packing is heavy and seldom needed

    return packed_models.logical_shapes(file)


def read_parameter(file: TensorFile, name: str) -> np.ndarray:
    """One parameter as float32: a view if it is stored so."""
    entry = file.entries.get(name)
    if entry is not None and entry.dtype in PLAIN_TYPES:
        return as_float32(file[name])
    from engine.checkpoints.combining import packed_models

    return packed_models.unpack(file, name)


def parameter_pieces(file: TensorFile, name: str) -> Iterator[np.ndarray]:
    """The rows of one parameter, float32, a piece at a time."""
    entry = file.entries.get(name)
    if entry is not None and entry.dtype in PLAIN_TYPES:
        return map(as_float32, file.pieces(name))
    from engine.checkpoints.combining import packed_models

    return packed_models.unpack_pieces(file, name)


def checked_shapes(file: TensorFile, config: Architecture) -> dict[str, tuple[int, ...]]:
    """The shapes of `config`, if the file has every one of them and nothing else."""
    expected, problems = config.parameter_shapes(), shape_problems(file, config)
    if problems:
        raise CheckpointError(f"{file.path}: {problems[0]}", "The weights do not belong to this config.json.")
    return expected


def shape_problems(file: TensorFile, config: Architecture) -> list[str]:
    """How the tensors of a file differ from those of a configuration."""
    expected, found = config.parameter_shapes(), stored_shapes(file)
    words = [f"The tensor {name} is missing." for name in expected if name not in found]
    words += [f"The tensor {name} does not belong to the model." for name in found if name not in expected]
    words += [
        f"{name} has shape {tuple(found[name])}; the configuration wants {shape}."
        for name, shape in expected.items()
        if name in found and tuple(found[name]) != shape
    ]
    return words
