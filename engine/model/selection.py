"""What a training mode trains: rows of parameters, nothing else. Modes are selections over one trainer, not trainers
of their own.
"""

from __future__ import annotations

from engine.errors import InputError
from engine.model.config import ModelConfig

MODES = ("full", "wsla", "lora")
ADAPTED = ("in_proj", "out_proj")
DEFAULT_RANK = 8


def selected_rows(config: ModelConfig, mode: str, adapters: dict[str, tuple[int, ...]]) -> dict[str, tuple[int, int]]:
    """First and past-the-last trained row by parameter name.  `adapters`: shapes of the low-rank parameters."""
    if mode == "full":
        return {name: (0, shape[0]) for name, shape in config.parameter_shapes().items()}
    if mode == "wsla":  # rows of B and C; the rows of delta, which come first, stay
        first, last = config.time_step_rank, config.time_step_rank + 2 * config.state_size
        return {f"backbone.layers.{i}.mixer.x_proj.weight": (first, last) for i in range(config.num_hidden_layers)}
    if mode == "lora":
        return {name: (0, shape[0]) for name, shape in adapters.items()}
    raise InputError(f"There is no training mode {mode!r}.", f"Choose one of: {', '.join(MODES)}.")


def adapter_names(weight: str) -> tuple[str, str]:
    """Names of the low-rank pair (down, up) of a weight."""
    stem = weight.removesuffix(".weight")
    return f"{stem}.lora_A.weight", f"{stem}.lora_B.weight"


def adapter_shapes(config: ModelConfig, rank: int) -> dict[str, tuple[int, ...]]:
    """Shapes of the low-rank parameters on in_proj and out_proj of every layer."""
    shapes: dict[str, tuple[int, ...]] = {}
    for name, (rows, *rest) in config.parameter_shapes().items():
        if any(name.endswith(f".{part}.weight") for part in ADAPTED):
            down, up = adapter_names(name)
            shapes[down], shapes[up] = (rank, rest[0]), (rows, rank)
    return shapes
