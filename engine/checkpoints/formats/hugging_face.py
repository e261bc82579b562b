"""Folders in Hugging Face format, both ways, with every header checked before a tensor is touched.

Import takes one file or shards, float32, float16 or bfloat16, a tied or a separate head, and both spellings of the
embedding's name. Export writes what `transformers` loads to the same logits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from engine.checkpoints.formats.imported import Imported, check_finite, tokenizer_content
from engine.checkpoints.formats.output import export_folder, json_bytes
from engine.checkpoints.store.safe_reading import TensorFile, config_from_keys, read_json
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.errors import CheckpointError
from engine.model.config import ModelConfig, decays
from engine.model.files import CONFIG_FILE, EMBEDDING, HEAD, INDEX_FILE, OTHER_SPELLINGS, WEIGHTS_FILE

TOKENIZER_FILE, GENERATION_FILE = "tokenizer.json", "generation_config.json"
TOKENIZER_CONFIG_FILE, CARD_FILE = "tokenizer_config.json", "README.md"
FILES = (CONFIG_FILE, WEIGHTS_FILE, TOKENIZER_FILE, GENERATION_FILE, TOKENIZER_CONFIG_FILE, CARD_FILE)
PRECISIONS = {
    "float32": np.dtype(np.float32),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "float16": np.dtype(np.float16),
}
READABLE = {"F32": "float32", "BF16": "bfloat16", "F16": "float16"}
MAX_SHARDS = 1024
REMEDY = "The files do not belong together."


# ---- import


def read_folder(folder: Path, tokenizer: Path | None = None) -> Imported:
    """The model in `folder`; `tokenizer` is where its tokenizer is, if not beside it."""
    keys = read_json(_real(folder / CONFIG_FILE))
    if not isinstance(keys, dict):
        raise CheckpointError(f"{folder / CONFIG_FILE} does not hold an object.", "Choose another folder.")
    config = config_from_keys(keys, str(folder / CONFIG_FILE))
    parameters = FolderParameters(folder, config)
    count = len(parameters.files)
    notes = [f"Stored as {parameters.precision} in {count} file{'s' * (count != 1)}."]
    if config.tie_word_embeddings and parameters.has_other_head():
        notes.append("The files hold a head of their own, but config.json ties it to the embedding: it was left out.")
    content = None
    place = tokenizer or folder
    if tokenizer is not None or any((folder / name).exists() for name in (TOKENIZER_FILE, "vocab.json")):
        content = tokenizer_content(place, config.vocab_size)
    else:
        notes.append("It came without a tokenizer.")
    return Imported(config, parameters, content, parameters.precision, str(folder), tuple(notes))


class FolderParameters(Mapping[str, np.ndarray]):
    """Parameters by our names, mapped.  Names, shapes and types have been checked when this exists."""

    def __init__(self, folder: Path, config: ModelConfig) -> None:
        self.folder, self._shapes = folder, config.parameter_shapes()
        self.files = [TensorFile(path) for path in _weight_files(folder)]
        self._found: dict[str, tuple[TensorFile, str]] = {}
        for file in self.files:
            for stored in file:
                name = OTHER_SPELLINGS.get(stored, stored)
                if name in self._found:
                    raise CheckpointError(f"{folder}: {stored} is there twice.", REMEDY)
                self._found[name] = (file, stored)
        self._check_names(config.tie_word_embeddings)
        self.precision = self._check_tensors()

    def _check_names(self, tied: bool) -> None:
        missing = sorted(self._shapes.keys() - self._found.keys())
        extra = sorted(self._found.keys() - self._shapes.keys() - ({HEAD} if tied else set()))
        said = [
            f"{what}: {', '.join(names[:5])}{f' and {len(names) - 5} more' if len(names) > 5 else ''}"
            for what, names in (("missing", missing), ("unexpected", extra))
            if names
        ]
        if said:
            raise CheckpointError(f"{self.folder}: {'; '.join(said)}.", "The files do not belong to this config.json.")

    def _check_tensors(self) -> str:
        kinds = set()
        for name, shape in self._shapes.items():
            file, stored = self._found[name]
            entry = file.entries[stored]
            if entry.shape != shape:
                raise CheckpointError(
                    f"{self.folder}: {stored} has shape {entry.shape}; config.json wants {shape}.", REMEDY
                )
            if entry.dtype not in READABLE:
                raise CheckpointError(
                    f"{self.folder}: {stored} is stored as {entry.dtype}.",
                    "Only float32, float16 and bfloat16 can be read.",
                )
            if not stays_float32(name):
                kinds.add(READABLE[entry.dtype])
        return kinds.pop() if len(kinds) == 1 else "float32"

    def has_other_head(self) -> bool:
        """Whether there is a head whose numbers are not those of the embedding."""
        if HEAD not in self._found or HEAD in self._shapes:
            return False
        (file, stored), (other, embedding) = self._found[HEAD], self._found[EMBEDDING]
        return file.entries[stored].shape != self._shapes[EMBEDDING] or not np.array_equal(
            file[stored], other[embedding]
        )

    def __getitem__(self, name: str) -> np.ndarray:
        file, stored = self._found[name]
        if name not in self._shapes:
            raise KeyError(name)
        return check_finite(file[stored], stored, str(self.folder))

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
    except (OSError, RuntimeError) as error:
        cause = getattr(error, "strerror", None) or str(error)
        raise CheckpointError(
            f"{path} cannot be read: {cause}.", "Choose a model folder in Hugging Face format."
        ) from error


# ---- export


def write_folder(
    out: Path,
    config: ModelConfig,
    parameters: Mapping[str, np.ndarray],
    tokenizer: Path | None = None,
    precision: str = "float32",
    card: str = "",
) -> None:
    """A folder that transformers and `read_folder` read.  A_log, D, norms, biases and convolution stay float32."""
    if precision not in PRECISIONS:
        raise CheckpointError(
            f"A Hugging Face folder cannot hold {precision}.", f"Choose one of: {', '.join(PRECISIONS)}."
        )
    rounded = _Rounded(parameters, config, PRECISIONS[precision])
    ids, names = _special_tokens(tokenizer)
    with export_folder(out, FILES) as writer:
        writer.write_file(CONFIG_FILE, json_bytes(_config_keys(config, precision, ids)))
        writer.write_tensors(WEIGHTS_FILE, rounded, {"format": "pt"})
        writer.write_file(GENERATION_FILE, json_bytes({"_from_model_config": True, "do_sample": False, **ids}))
        if tokenizer is not None:
            writer.copy_file(TOKENIZER_FILE, tokenizer)
            writer.write_file(TOKENIZER_CONFIG_FILE, json_bytes(names))
        if card:
            writer.write_file(CARD_FILE, card.encode())


class _Rounded(Mapping[str, np.ndarray]):
    """Parameters in a type; one that float16 cannot hold is refused, not made infinite."""

    def __init__(self, parameters: Mapping[str, np.ndarray], config: ModelConfig, dtype: np.dtype) -> None:
        self._parameters, self._names, self._dtype = parameters, list(config.parameter_shapes()), dtype

    def __getitem__(self, name: str) -> np.ndarray:
        array = np.asarray(self._parameters[name])
        dtype = np.dtype(np.float32) if stays_float32(name) else self._dtype
        if array.dtype == dtype:
            return array
        with np.errstate(over="ignore"):
            array = array.astype(dtype)
        if not np.isfinite(array).all():
            raise CheckpointError(f"{name} holds values that {dtype} cannot hold.", "Export as float32 or bfloat16.")
        return array

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def stays_float32(name: str) -> bool:
    """Whether a parameter is never stored in fewer bits: A_log, D, norms, biases and the convolution."""
    return not decays(name) or ".conv1d." in name


def _config_keys(config: ModelConfig, precision: str, ids: dict[str, int]) -> dict[str, Any]:
    keys = {**ids, **config.to_hugging_face(), "dtype": precision}
    keys.pop("torch_dtype", None)  # the older name of the same key, with what the file was before
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
