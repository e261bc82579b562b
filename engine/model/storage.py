"""How a model keeps its large matrices on the device: in float32, or in 16 or 8 bits and nothing else.

Packed are the matrices that get low-rank pairs, the embedding and the head, which are nearly all weights of a model.
They are widened in working memory where a kernel needs them so, and are never trained; activations, norms, biases and
low-rank pairs stay float32. Nothing here loads NumPy: the tables of options need the names.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.errors import InputError

if TYPE_CHECKING:
    from engine.model.architectures.architecture import Architecture

AUTO = "auto"
PRECISIONS = ("float32", "float16", "int8")  # the widest first


@dataclass(frozen=True)
class Storage:
    """`wide`: matrices that stay float32 all the same, because they are trained themselves."""

    precision: str = "float32"
    wide: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        check_precision(self.precision)

    def packed(self, config: Architecture) -> frozenset[str]:
        """The names of what is packed."""
        return frozenset() if self.precision == "float32" else config.large_matrices - self.wide


def check_precision(precision: str) -> None:
    if precision not in PRECISIONS:
        raise InputError(f"There is no precision {precision!r}.", f"Choose one of: {', '.join(PRECISIONS)}.")


def check_can_pack(mode: str, precision: str) -> None:
    """Refuse to keep a base packed that `mode` trains whole."""
    if mode == "full" and precision != "float32":
        raise InputError(
            f"Mode full trains every weight, in float32; the base cannot be kept in {precision}.",
            "Choose mode lora, or set base_precision to auto or float32.",
        )


def narrower(one: str, other: str) -> str:
    """The precision of fewer bits."""
    return max(one, other, key=PRECISIONS.index)
