"""What the scripts of tests/fixtures have stored of transformers: their headers say what is in the files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

from engine.model.step import AdamW

ROOT = Path(__file__).parents[1] / "fixtures" / "transformers"
ROUNDED = ("float16", "sharded_bf16")  # logits and loss of one batch only
CONFIGURATIONS = sorted(folder.name for folder in ROOT.iterdir() if folder.name not in ROUNDED)
LIMITS = {"cpu": 1e-4, "webgpu": 1e-3}


def expected(folder: str) -> dict[str, np.ndarray]:
    """All that is stored about a configuration."""
    return load_file(ROOT / folder / "expected.safetensors")


def with_prefix(tensors: dict[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    """The tensors below a prefix, by the rest of their names."""
    return {name.removeprefix(prefix): array for name, array in tensors.items() if name.startswith(prefix)}


def assert_close(found: np.ndarray, wanted: np.ndarray, limit: float, name: str = "") -> None:
    largest = max(float(np.abs(wanted).max()), 1e-6)
    assert np.abs(found.reshape(wanted.shape) - wanted).max() <= limit * largest, name


def assert_every_gradient(model, device, stored: dict[str, np.ndarray], case: str) -> None:
    """The loss and each gradient by name, on the ids of one case."""
    wanted = with_prefix(stored, f"gradient.{case}.")
    loss, gradients = model.loss_and_gradients(stored[f"ids.{case}"])
    assert abs(loss - stored[f"loss.{case}"]) <= LIMITS[device.name]
    assert gradients.keys() == wanted.keys()
    for parameter, gradient in wanted.items():
        assert_close(gradients[parameter], gradient, LIMITS[device.name], parameter)


def assert_ten_steps(model, device, stored: dict[str, np.ndarray]) -> None:
    """The losses of ten AdamW steps, and every parameter behind them."""
    step = model.training_step("full", batch=3, length=32)
    optimiser = AdamW(learning_rate=1e-2, weight_decay=0.1, max_norm=1.0)
    losses = [step.run(ids, optimiser, number)().loss for number, ids in enumerate(stored["adamw.ids"], start=1)]
    step.close()
    assert np.abs(np.array(losses) - stored["adamw.losses"]).max() <= LIMITS[device.name]
    for parameter, array in with_prefix(stored, "adamw.final.").items():
        assert_close(model.parameters[parameter], array, 20 * LIMITS[device.name], parameter)
