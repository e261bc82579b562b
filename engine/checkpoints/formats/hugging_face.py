"""Folders in Hugging Face format: import, and export that `transformers` loads to the same logits.

`engine.model.files` reads the model; here its tokenizer joins it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from engine.checkpoints.formats.imported import Imported, tokenizer_content
from engine.checkpoints.formats.output import export_folder, json_bytes
from engine.checkpoints.store.writing import FolderWriter
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.devices import Device
from engine.errors import CheckpointError
from engine.model.architectures.architecture import Architecture
from engine.model.files import CONFIG_FILE, METADATA, WEIGHTS_FILE, FolderParameters, read_config
from engine.model.model import Model, load_model
from engine.tensor_file import TensorSource, as_float32, pieces_of, type_name

TOKENIZER_FILE, GENERATION_FILE = "tokenizer.json", "generation_config.json"
TOKENIZER_CONFIG_FILE, CARD_FILE = "tokenizer_config.json", "README.md"
FILES = (CONFIG_FILE, WEIGHTS_FILE, TOKENIZER_FILE, GENERATION_FILE, TOKENIZER_CONFIG_FILE, CARD_FILE)
PRECISIONS = {
    "float32": np.dtype(np.float32),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "float16": np.dtype(np.float16),
}


# ---- import


def read_folder(folder: Path, tokenizer: Path | None = None) -> Imported:
    """The model in `folder`; `tokenizer` is where its tokenizer is, if not beside it."""
    config = read_config(folder)
    parameters = FolderParameters(folder, config)
    count = len(parameters.files)
    notes = [f"Stored as {parameters.precision} in {count} file{'s' * (count != 1)}."]
    if config.tie_word_embeddings and parameters.has_other_head():
        notes.append("The separate output head in the files was ignored: config.json ties it to the embedding.")
    content = None
    place = tokenizer or folder
    if tokenizer is not None or any((folder / name).exists() for name in (TOKENIZER_FILE, "vocab.json")):
        content = tokenizer_content(place, config.vocab_size)
    else:
        notes.append("No tokenizer was included.")
    return Imported(config, parameters, content, parameters.precision, str(folder), tuple(notes))


def load_folder(folder: Path, device: Device, precision: str = "float32") -> tuple[Model, Tokenizer]:
    """The model in `folder` on `device`, and its tokenizer: as if it were imported first, with the same checks.

    `precision`: in which its large matrices are kept.
    """
    imported = read_folder(folder)
    if imported.tokenizer is None:
        raise CheckpointError(f"{folder} holds no tokenizer.", "Choose a folder with a tokenizer.json.")
    tokenizer = Tokenizer(json.loads(imported.tokenizer), str(folder))
    model = load_model(folder, device, precision)
    model.document_end = tokenizer.special.end_of_text
    return model, tokenizer


# ---- export


def write_folder(
    out: Path,
    config: Architecture,
    parameters: Mapping[str, np.ndarray],
    tokenizer: Path | None = None,
    precision: str = "float32",
    card: str = "",
) -> None:
    """A folder that transformers and `read_folder` read.  What is few and sensitive stays float32."""
    with export_folder(out, FILES) as writer:
        write_files(writer, "", config, parameters, tokenizer, precision, card)


def write_files(
    writer: FolderWriter,
    place: str,
    config: Architecture,
    parameters: Mapping[str, np.ndarray],
    tokenizer: Path | None = None,
    precision: str = "float32",
    card: str = "",
) -> None:
    """The files of such a folder; `place` is put before their names ("base/")."""
    if precision not in PRECISIONS:
        raise CheckpointError(
            f"A Hugging Face folder cannot hold {precision}.", f"Choose one of: {', '.join(PRECISIONS)}."
        )
    rounded = _Rounded(parameters, config, PRECISIONS[precision])
    ids, names = _special_tokens(tokenizer)
    writer.write_file(place + CONFIG_FILE, json_bytes(_config_keys(config, precision, ids)))
    writer.write_tensors(place + WEIGHTS_FILE, rounded, METADATA, rounded.described)
    writer.write_file(place + GENERATION_FILE, json_bytes({"_from_model_config": True, "do_sample": False, **ids}))
    if tokenizer is not None:
        writer.copy_file(place + TOKENIZER_FILE, tokenizer)
        writer.write_file(place + TOKENIZER_CONFIG_FILE, json_bytes(names))
    if card:
        writer.write_file(place + CARD_FILE, card.encode())


class _Rounded(TensorSource):
    """Parameters in one type; a value that float16 cannot hold is refused rather than made infinite."""

    def __init__(self, parameters: Mapping[str, np.ndarray], config: Architecture, dtype: np.dtype) -> None:
        self._parameters = parameters
        self._types = {name: dtype if spec.packs else np.dtype(np.float32) for name, spec in config.specs.items()}
        shapes = config.parameter_shapes()
        self.described = {name: (type_name(name, self._types[name]), shape) for name, shape in shapes.items()}

    def __getitem__(self, name: str) -> np.ndarray:
        return np.concatenate(list(self.pieces(name)))

    def pieces(self, name: str) -> Iterator[np.ndarray]:
        dtype = self._types[name]
        for piece in pieces_of(self._parameters, name):
            with np.errstate(over="ignore"):
                rounded = as_float32(piece).astype(dtype, copy=False)
            if not np.isfinite(rounded).all():
                raise CheckpointError(
                    f"{name} holds values that {dtype} cannot represent.", "Export as float32 or bfloat16."
                )
            yield rounded

    def __iter__(self) -> Iterator[str]:
        return iter(self._types)

    def __len__(self) -> int:
        return len(self._types)


def _config_keys(config: Architecture, precision: str, ids: dict[str, int]) -> dict[str, Any]:
    keys = {**ids, **config.to_hugging_face(), "dtype": precision}
    keys.pop("torch_dtype", None)  # the older name of the same key, with what the file was before
    keys.pop("_name_or_path", None)  # may be a folder of the user
    return keys


def _special_tokens(path: Path | None) -> tuple[dict[str, int], dict[str, Any]]:
    """Ids for config.json and generation_config.json, and the content of tokenizer_config.json."""
    if path is None:
        return {}, {}
    tokenizer = Tokenizer.load(path)
    end = tokenizer.special.end_of_text
    pad = end if tokenizer.special.pad is None else tokenizer.special.pad
    ids = {"bos_token_id": end, "eos_token_id": end, "pad_token_id": pad}
    names: dict[str, Any] = {key.removesuffix("_id"): tokenizer.token(number) for key, number in ids.items()}
    return ids, {
        **names,
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
        "model_input_names": ["input_ids", "attention_mask"],
    }
