"""What a model on disk is and what it would take, before anything is copied: the weights are not read."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine.checkpoints.combining.number_formats import packed_bytes
from engine.checkpoints.formats.gguf_import import is_gguf, read_gguf
from engine.checkpoints.formats.hugging_face import read_folder
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.devices import Device
from engine.errors import CheckpointError
from engine.model.architectures.architecture import Architecture
from engine.model.blueprint import estimate_training
from engine.model.files import CONFIG_FILE
from engine.model.modes import ADAPTER_MODES
from engine.train.options import DEFAULT_PRESET, preset

OCCURRING_TOKENS = 8000  # rows that mode "vocabulary" is estimated for; a repository uses about as many tokens


@dataclass(frozen=True)
class ModelFacts:
    """A model that can be imported."""

    config: Architecture
    stored: str  # the types of its large matrices: "q4_1", "bfloat16"
    precision: str  # in which the store keeps them, without loss
    nbytes: int  # that the store would need
    has_fim: bool  # whether the tokenizer has fill-in-the-middle tokens
    can_be_taught_fim: bool  # whether it has unused ones to learn it on
    has_tokenizer: bool


def inspect_model(path: Path) -> ModelFacts:
    """A GGUF file or a folder in Hugging Face format; what cannot be imported is refused with the reader's reason."""
    try:
        if path.is_dir() and (path / CONFIG_FILE).exists():
            imported = read_folder(path)
            stored = imported.precision
        elif path.is_file() and is_gguf(path):
            imported = read_gguf(path)
            stored = imported.parameters.kinds
        else:
            raise CheckpointError(
                f"{path} is neither a GGUF file nor a folder in Hugging Face format.",
                "Choose a .gguf file, or a folder with config.json and model.safetensors."
                if path.exists()
                else "There is nothing at this path.",
            )
    except OSError as error:
        raise CheckpointError(f"{path} cannot be read: {error.strerror or error}.", "Choose another one.") from error
    config, content = imported.config, imported.tokenizer
    tokenizer = None if content is None else Tokenizer(json.loads(content), str(path))
    return ModelFacts(
        config,
        stored,
        imported.precision,
        packed_bytes(config, imported.precision) + len(content or b""),
        tokenizer is not None and tokenizer.has_fim,
        tokenizer is not None and tokenizer.with_taught_fim() is not None,
        tokenizer is not None,
    )


def training_modes(config: Architecture) -> tuple[str, ...]:
    """The modes by which a model can be trained, the one that takes the most memory first."""
    return ("full", *reversed(ADAPTER_MODES), *sorted(config.modes))


def memory_by_mode(config: Architecture, device: Device) -> dict[str, int]:
    """Bytes that training would hold on `device`, by mode, with the batch of the default preset computed at once."""
    options = preset(DEFAULT_PRESET)
    tokens = np.arange(min(OCCURRING_TOKENS, config.vocab_size), dtype=np.int32)
    shape = options.batch_size, options.sequence_length

    def total(mode: str) -> int:
        token_ids = tokens if mode == "vocabulary" else None
        return sum(estimate_training(config, device, mode, *shape, rank=options.rank, token_ids=token_ids).values())

    return {mode: total(mode) for mode in training_modes(config)}


def batch_words() -> str:
    """What `memory_by_mode` is for: "4 sequences of 256 tokens"."""
    options = preset(DEFAULT_PRESET)
    return f"{options.batch_size} sequences of {options.sequence_length} tokens"
