"""Only what was trained, without the base: a folder with `adapter_model.safetensors` and `adapter_config.json`.

Low-rank pairs, and embedding rows beside them, are written as PEFT has them. PEFT (0.21) computes the same from them,
but refuses a pair on out_proj of Mamba models and of falcon_h1, because CUDA kernels would bypass it; where that
matters, export the whole model. Rows of a projection (WSLA; queries and keys) have no place in PEFT: they
are written as they are, and the configuration says which rows of which parameter they replace. The base's hash is in
the weights' metadata.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from engine.checkpoints.formats.output import export_folder, json_bytes
from engine.checkpoints.store.delta import Delta, DeltaPart
from engine.checkpoints.store.manifest import BaseReference
from engine.errors import CheckpointError
from engine.model.architectures.architecture import Architecture

WEIGHTS_FILE, CONFIG_FILE, CARD_FILE = "adapter_model.safetensors", "adapter_config.json", "README.md"
FILES = (WEIGHTS_FILE, CONFIG_FILE, CARD_FILE)
PREFIX = "base_model.model."  # PEFT's, for what it wraps
ROWS_FORMAT = "codecoil-rows"
# By model_type: a module that PEFT accepts no pair on
REFUSED_BY_PEFT = dict.fromkeys(("mamba", "mamba2", "falcon_h1"), "out_proj")


def write_adapter(
    out: Path, delta: Delta, config: Architecture, base: BaseReference, base_name: str, card: str = ""
) -> str:
    """Write the folder; "peft" or "rows", as it could be written."""
    pairs = [part for part in delta.parts if part.kind == "low_rank"]
    others = [part for part in delta.parts if part.kind != "low_rank"]
    as_peft = pairs and all(part.kind == "indexed_rows" and part.parameter == config.embedding_name for part in others)
    if not delta.parts:
        raise CheckpointError("The checkpoint changes nothing, so there is nothing to export.")
    if as_peft and len(others) <= 1:
        settings, tensors = _peft(pairs, others, delta.tensors, base_name, config)
    else:
        settings = {"format": ROWS_FORMAT, "schema": 1, "parts": [part.to_json() for part in delta.parts]}
        tensors = {key: np.asarray(array) for key, array in delta.tensors.items()}
    metadata = {"format": "pt", "base": base_name, "base_weights_sha256": base.sha256}
    with export_folder(out, FILES) as writer:
        writer.write_tensors(WEIGHTS_FILE, tensors, metadata)
        writer.write_file(CONFIG_FILE, json_bytes(settings))
        if card:
            writer.write_file(CARD_FILE, card.encode())
    return "peft" if "peft_type" in settings else "rows"


def _peft(
    pairs: list[DeltaPart],
    rows: list[DeltaPart],
    stored: Mapping[str, np.ndarray],
    base_name: str,
    architecture: Architecture,
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """`lora_alpha / r` is PEFT's scale; a module whose rank or scale is its own goes into a pattern."""
    tensors: dict[str, np.ndarray] = {}
    ranks, alphas, modules = {}, {}, {}
    paired = {part.parameter for part in pairs}
    unpaired = {_last(name) for name in architecture.specs if name not in paired}
    for part in pairs:
        module = part.parameter.removesuffix(".weight")
        tensors[f"{PREFIX}{module}.lora_A.weight"] = np.asarray(stored[part.down])
        tensors[f"{PREFIX}{module}.lora_B.weight"] = np.asarray(stored[part.up])
        ranks[module] = int(stored[part.down].shape[0])
        alphas[module] = part.scale * ranks[module]
        # PEFT goes by the end of a module's name: of the shared MLP's, a mixture's experts have the last part, too
        modules[module] = ".".join(module.split(".")[-2 if _last(part.parameter) in unpaired else -1 :])
    rank, alpha = next(iter(ranks.values())), next(iter(alphas.values()))
    config: dict[str, Any] = {
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": base_name,
        "r": rank,
        "lora_alpha": int(alpha) if alpha == int(alpha) else alpha,
        "rank_pattern": {module: value for module, value in ranks.items() if value != rank},
        "alpha_pattern": {module: value for module, value in alphas.items() if value != alpha},
        "target_modules": sorted(set(modules.values())),
        "lora_dropout": 0.0,
        "bias": "none",
        "fan_in_fan_out": False,
        "use_rslora": False,
        "use_dora": False,
        "inference_mode": True,
        "init_lora_weights": True,
    }
    for part in rows:
        module = part.parameter.removesuffix(".weight")
        tensors[f"{PREFIX}{module}.token_adapter.trainable_tokens_delta"] = np.asarray(stored[part.tensor])
        config["trainable_token_indices"] = {module.rpartition(".")[2]: [int(number) for number in stored[part.index]]}
    return config, tensors


def _last(parameter: str) -> str:
    """The last part of the name of a parameter's module."""
    return parameter.removesuffix(".weight").rpartition(".")[2]
