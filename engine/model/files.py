"""Mamba-1 folders in Hugging Face format, in and out: `config.json` beside `model.safetensors`, whole or in shards.

Reading maps the files: a tensor is in memory only while it is handed over. Every complaint names the tensor with the
shape that was found and the one that was expected.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import ml_dtypes  # noqa: F401  (registers bfloat16 with NumPy, in which safetensors hands it over)
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from engine.errors import ModelFileError
from engine.model.config import ModelConfig

WEIGHTS_FILE, INDEX_FILE, CONFIG_FILE = "model.safetensors", "model.safetensors.index.json", "config.json"
EMBEDDING = "backbone.embeddings.weight"
OTHER_SPELLINGS = {"backbone.embedding.weight": EMBEDDING}
HEAD = "lm_head.weight"


def read_config(folder: Path) -> ModelConfig:
    """The configuration of a model folder."""
    keys = _read_json(folder / CONFIG_FILE)
    if not isinstance(keys, dict):
        raise ModelFileError(f"{folder / CONFIG_FILE} does not hold an object.", "Choose another folder.")
    return ModelConfig.from_hugging_face(keys)


def read_parameters(folder: Path, config: ModelConfig) -> Iterator[tuple[str, np.ndarray]]:
    """Every parameter of `config` by name, shape checked, none missing and none left over.

    Arrays are float32, float16, or bfloat16 as uint16 bits.
    """
    expected = config.parameter_shapes()
    with ExitStack() as stack:
        found = _open_tensors(folder, stack)
        missing = sorted(expected.keys() - found.keys())
        extra = sorted(found.keys() - expected.keys() - ({HEAD} if config.tie_word_embeddings else set()))
        if missing or extra:
            raise ModelFileError(
                f"{folder}: "
                + "; ".join(
                    f"{what}: {', '.join(names[:5])}"
                    for what, names in (("missing", missing), ("unexpected", extra))
                    if names
                )
                + ".",
                "The files do not belong to this config.json.",
            )
        for name, shape in expected.items():
            file, stored_name = found[name]
            yield name, _read_tensor(file, stored_name, shape, folder)


def write_model(folder: Path, config: ModelConfig, parameters: dict[str, np.ndarray]) -> None:
    """Write a folder that `load_model` and transformers read."""
    keys = {**config.to_hugging_face(), "dtype": "float32"}
    keys.pop("torch_dtype", None)  # the older name of the same key, with what the file was before
    arrays = {name: np.ascontiguousarray(array) for name, array in parameters.items()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(keys, indent=2, sort_keys=True) + "\n"
        (folder / CONFIG_FILE).write_text(text, encoding="utf-8")
        save_file(arrays, folder / WEIGHTS_FILE, {"format": "pt"})
    except (OSError, SafetensorError) as error:
        raise ModelFileError(f"{folder} cannot be written: {error}.", "Choose another folder or make room.") from error


def _open_tensors(folder: Path, stack: ExitStack) -> dict[str, tuple[Any, str]]:
    """Open safetensors by the name that we use: the file, and the name under which it stores the tensor."""
    if (folder / WEIGHTS_FILE).is_file():
        paths = [folder / WEIGHTS_FILE]
    elif (folder / INDEX_FILE).is_file():
        index = _read_json(folder / INDEX_FILE)
        weight_map = index.get("weight_map") if isinstance(index, dict) else None
        if not isinstance(weight_map, dict) or not all(isinstance(name, str) for name in weight_map.values()):
            raise ModelFileError(f"{folder / INDEX_FILE} has no weight_map.", "Copy or download the file again.")
        names = sorted(set(weight_map.values()))
        if any(Path(name).name != name for name in names):
            raise ModelFileError(f"{folder / INDEX_FILE} names a file outside of its folder.", "Do not use this model.")
        paths = [folder / name for name in names]
    else:
        raise ModelFileError(
            f"{folder} holds no {WEIGHTS_FILE}.",
            "Choose a folder in Hugging Face format with safetensors (pickled .bin files are never read).",
        )
    found = {}
    for path in paths:
        try:
            file = stack.enter_context(safe_open(path, framework="numpy"))
            found.update({OTHER_SPELLINGS.get(name, name): (file, name) for name in file.keys()})  # noqa: SIM118
        except (OSError, SafetensorError) as error:
            raise ModelFileError(f"{path} cannot be read: {error}.", "Copy or download the file again.") from error
    return found


def _read_tensor(file: Any, name: str, shape: tuple[int, ...], folder: Path) -> np.ndarray:
    part = file.get_slice(name)
    dtype, found = part.get_dtype(), tuple(part.get_shape())
    if found != shape:
        raise ModelFileError(
            f"{folder}: {name} has shape {found}; config.json wants {shape}.", "The files do not belong together."
        )
    if dtype not in ("F32", "F16", "BF16"):
        raise ModelFileError(
            f"{folder}: {name} is stored as {dtype}.", "Only float32, float16 and bfloat16 can be read."
        )
    array = _bfloat16_bits(file, name, shape) if dtype == "BF16" else file.get_tensor(name)
    finite = np.isfinite(array) if array.dtype != np.uint16 else (array & 0x7F80) != 0x7F80
    if not finite.all():
        raise ModelFileError(
            f"{folder}: {name} holds {np.size(finite) - np.count_nonzero(finite)} values that are not finite.",
            "The model is damaged.",
        )
    return array


def _bfloat16_bits(file: Any, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """safetensors hands bfloat16 to NumPy by way of ml_dtypes; two bytes a number is all that is needed of it."""
    return file.get_tensor(name).view(np.uint16).reshape(shape)


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ModelFileError(
            f"{path} cannot be read: {error.strerror}.", "Choose a model folder in Hugging Face format."
        ) from error
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{path} is not valid JSON: {error}.", "Copy or download the file again.") from error
