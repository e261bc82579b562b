"""Codecoil's engine: everything that computes.  Knows no window, no Qt and no file watcher.

    repository ─▶ corpus ─▶ batches ─▶ trainer ─▶ checkpoints ─▶ completion
                                └──── model ────┘
                              one description, on a tape
                          ┌────────────┴────────────┐
                    WebGPU device               CPU device
                    (wgpu, shaders/)        (NumPy and Numba)

    corpus/       a folder of source code: which files, which tokens, which batches
    model/        configuration, parameters, the forward pass, files; `Model` is what other programs use
    graph/        tensors without numbers, the tape that differentiates, the plan that places
    devices/      the two devices and the kernels that they share
    train/        steps, evaluations, health and memory of a run; knows no repository
    session/      a run from folder to checkpoint: corpus, base, trainer and store put together
    handoff/      a run for another machine, as a folder, and its result
    checkpoints/  the store, comparing and merging, other people's formats
    memory/       every token of the repository, asked while a completion is written
    generate/     completion: from a cursor to a stream of text
    scorecard/    did adaptation help, with an interval
    benchmark/    how fast every kernel of a device is, and what it makes of training and completing
    selftest      every kernel of a device against the CPU device
    shipped       where the built-in model and the fitted numbers are
    atomic_file   the one way a file is replaced
    safe_reading  files that others wrote: names, sizes and JSON, checked first
    tensor_file   safetensors files, mapped and in pieces
    compiling     functions compiled by Numba and kept on disk
    option_info   what an option may be, for code, command line and window alike
    atomic_file   a file replaced as a whole
    errors        what the engine raises on purpose

A program that uses it:

    device = engine.open_device()                        # or "cpu", "webgpu", "webgpu:1"
    model = engine.load_model("mamba-130m-hf", device=device)
    scores = model.logits(ids)                           # (b, l, v)
    loss, gradients = model.loss_and_gradients(ids, trainable="wsla")
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.devices import open_device
    from engine.model.blueprint import estimate_training
    from engine.model.config import ModelConfig, preset
    from engine.model.model import Model, create_model, load_model
    from engine.model.step import AdamW

_HOMES = {
    "AdamW": "engine.model.step",
    "Model": "engine.model.model",
    "ModelConfig": "engine.model.config",
    "create_model": "engine.model.model",
    "estimate_training": "engine.model.blueprint",
    "load_model": "engine.model.model",
    "open_device": "engine.devices",
    "preset": "engine.model.config",
}
__all__ = ["AdamW", "Model", "ModelConfig", "create_model", "estimate_training", "load_model", "open_device", "preset"]


def __getattr__(name: str) -> Any:
    """Public names are fetched when first used: a program that only wants `engine.errors` need not wait for Numba."""
    if name not in _HOMES:
        raise AttributeError(f"module 'engine' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
