"""Codecoil's engine: everything that computes.  Knows no window, no Qt and no file watcher.

    repository ─▶ corpus ─▶ batches ─▶ trainer ─▶ checkpoints ─▶ completion
                                └──── model ────┘
                              one description, on a tape
                          ┌────────────┴────────────┐
                    WebGPU device               CPU device
                    (wgpu, shaders/)        (NumPy and Numba)

    model/      configuration, parameters, the forward pass, files; `Model` is what other programs use
    graph/      tensors without numbers, the tape that differentiates, the plan that places
    devices/    the two devices and the kernels that they share
    selftest    every kernel of a device against the CPU device
    errors      what the engine raises on purpose

A program that uses it:

    device = engine.open_device()                        # or "cpu", "webgpu", "webgpu:1"
    model = engine.load_model("mamba-130m-hf", device=device)
    scores = model.logits(ids)                           # (b, l, v)
    loss, gradients = model.loss_and_gradients(ids, trainable="wsla")
"""

from engine.devices import open_device
from engine.model.blueprint import estimate_training
from engine.model.config import ModelConfig, preset
from engine.model.model import Model, create_model, load_model

__all__ = ["Model", "ModelConfig", "create_model", "estimate_training", "load_model", "open_device", "preset"]
