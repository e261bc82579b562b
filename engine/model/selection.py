"""What a training mode trains: rows of parameters, nothing else. Modes are selections over one trainer, not trainers
of their own.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.errors import InputError
from engine.model.architectures.architecture import Architecture
from engine.model.modes import ADAPTER_MODES, FEW_PARAMETER_MODES, MODES
from engine.model.storage import Storage, check_can_pack

DEFAULT_RANK = 8


def selected_rows(config: Architecture, mode: str, adapters: dict[str, tuple[int, ...]]) -> dict[str, tuple[int, int]]:
    """First and past-the-last trained row by parameter name.  `adapters`: shapes of the low-rank parameters.

    The single rows of the embedding that are trained besides are those of `selected_tokens`.
    """
    if mode == "full":
        return {name: (0, shape[0]) for name, shape in config.parameter_shapes().items()}
    if mode in config.modes:
        return {name: spec.trained_by[mode] for name, spec in config.specs.items() if mode in spec.trained_by}
    if mode in FEW_PARAMETER_MODES:
        raise InputError(f"Mode {mode} has nothing to train in a {config.model_type} model.", _instead(config))
    if mode in ADAPTER_MODES:
        return {name: (0, shape[0]) for name, shape in adapters.items()}
    raise InputError(f"There is no training mode {mode!r}.", f"Choose one of: {', '.join(MODES)}.")


def suits(config: Architecture, mode: str) -> bool:
    """Whether the model has anything that `mode` trains."""
    return mode not in FEW_PARAMETER_MODES or mode in config.modes


def selected_tokens(config: Architecture, mode: str, token_ids: Any) -> np.ndarray | None:
    """The ids whose embedding rows are trained besides what `mode` names, in order and each once; None for no rows.

    "vocabulary" needs them, "full" trains every row anyway, and the others train the rows that they are given: those
    of tokens that the base has never seen.
    """
    remedy = "Give the ids of the tokens that occur in the repository."
    if mode == "vocabulary" and token_ids is None:
        raise InputError("Mode vocabulary needs the tokens whose embedding rows it trains.", remedy)
    if mode == "full" or token_ids is None:
        return None
    ids = np.unique(np.asarray(token_ids))
    if ids.size == 0 or not np.issubdtype(ids.dtype, np.integer):
        raise InputError("The tokens to train are none, or no whole numbers.", remedy)
    if ids[0] < 0 or ids[-1] >= config.vocab_size:
        raise InputError(
            f"Token id {ids[0] if ids[0] < 0 else ids[-1]} is out of range; "
            f"the vocabulary is 0 to {config.vocab_size - 1}.",
            "Use the tokenizer that belongs to this model.",
        )
    return ids.astype(np.int32)


def storage_for(config: Architecture, mode: str, precision: str, token_ids: Any = None) -> Storage:
    """How a model that is trained by `mode` is kept: what is trained of the model itself stays float32.

    `token_ids`: as in `selected_tokens`.
    """
    check_can_pack(mode, precision)
    if precision == "float32":
        return Storage()
    own = set() if mode == "vocabulary" else set(selected_rows(config, mode, {}))
    if mode == "vocabulary" or token_ids is not None:
        own.add(config.embedding_name)
    return Storage(precision, frozenset(own))


def layer_of(name: str) -> int | None:
    """The layer that a parameter or a low-rank pair belongs to; None for embedding, last norm and head."""
    match name.split("."):
        case [_, "layers", number, *_]:
            return int(number)
    return None


def _instead(config: Architecture) -> str:
    return f"Choose {' or '.join(sorted(config.modes)) or 'lora'}."


def adapter_names(weight: str) -> tuple[str, str]:
    """Names of the low-rank pair (down, up) of a weight."""
    stem = weight.removesuffix(".weight")
    return f"{stem}.lora_A.weight", f"{stem}.lora_B.weight"


def adapter_shapes(config: Architecture, rank: int) -> dict[str, tuple[int, ...]]:
    """Shapes of the low-rank parameters on the large matrices of every layer."""
    shapes: dict[str, tuple[int, ...]] = {}
    for name, spec in config.specs.items():
        if spec.adapted:
            (rows, columns), (down, up) = spec.shape, adapter_names(name)
            shapes[down], shapes[up] = (rank, columns), (rows, rank)
    return shapes
