"""What tests/fixtures/make_transformers_fixtures.py has stored: its header says what is in the files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

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
