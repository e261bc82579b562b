"""What a block is: its parameters, its decoding state and its forward pass, stated once.

Everything else derives from it: layout, initialisation, training modes, packing, files, labels, the decoder.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from engine.graph.kernels import LayerStatistics
from engine.graph.mixture import ExpertLoad
from engine.graph.parameters import Parameter
from engine.graph.projections import Projection
from engine.graph.tape import Tape
from engine.graph.tensor import Tensor, View

if TYPE_CHECKING:
    from engine.model.network import Network

Draw = Callable[[np.random.Generator, tuple[int, ...]], np.ndarray]


def ones(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return np.ones(shape)


def zeros(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return np.zeros(shape)


def normal(deviation: float) -> Draw:
    return lambda random, shape: random.normal(0.0, deviation, shape)


def uniform(bound: float) -> Draw:
    return lambda random, shape: random.uniform(-bound, bound, shape)


def time_steps(lowest: float, highest: float, floor: float) -> Draw:
    """Biases of a state-space model's delta: softplus makes time steps from lowest to highest of them."""

    def draw(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        dt = np.maximum(np.exp(random.uniform(math.log(lowest), math.log(highest), shape)), floor)
        return dt + np.log(-np.expm1(-dt))  # softplus gives dt back

    return draw


def decays(A_log: np.ndarray) -> np.ndarray:
    """-exp(A_log), in float64, so that every machine rounds to the same bits."""
    with np.errstate(over="ignore"):
        return -np.exp(A_log, dtype=np.float64).astype(np.float32)


def times(factor: float | np.ndarray, folded: bool) -> Callable[[np.ndarray], np.ndarray] | None:
    """What multiplies a weight, or its rows, on the way into a GGUF file; nothing where that is not `folded` there."""
    if not folded or np.all(np.asarray(factor) == 1.0):
        return None
    factors = np.asarray(factor, np.float32)
    return lambda w: w * (factors if factors.ndim == 0 else factors.reshape(-1, *(1,) * (w.ndim - 1)))


@dataclass(frozen=True)
class ParameterSpec:
    """A parameter of a block, by the end of its Hugging Face name ("mixer.in_proj.weight").

    `decays`: weight decay applies.  `packs`: may be stored in fewer bits.  `adapted`: gets a low-rank pair.
    `trained_by`: rows that a mode of few parameters trains, by mode.  `gguf`: its name behind "blk.N.", with
    `to_gguf` and `from_gguf` where the numbers differ, and `gguf_shape` where the shape does.  `label`: for people,
    with a `short` one for narrow places.  `used`: where in its layer it is used, if that is not the order of the
    checkpoint.
    """

    name: str
    shape: tuple[int, ...]
    draw: Draw
    decays: bool = True
    packs: bool = False
    adapted: bool = False
    trained_by: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    gguf: str = ""
    to_gguf: Callable[[np.ndarray], np.ndarray] | None = None
    from_gguf: Callable[[np.ndarray], np.ndarray] | None = None
    gguf_shape: tuple[int, ...] = ()
    label: str = ""
    short: str = ""
    used: int = 0

    @property
    def is_stack(self) -> bool:
        """Whether it is a matrix for each expert, which are kept packed without getting low-rank pairs."""
        return self.packs and len(self.shape) == 3


RECURRENT, CACHE, PREPARED = "recurrent", "cache", "prepared"


@dataclass(frozen=True)
class StateSpec:
    """Memory that a block keeps while decoding.

    "recurrent": moves on with every token; going back needs a copy.  "cache": a row (`shape`) for each token; going
    back is forgetting rows.  "prepared": made from the weights by `Block.prepare`, the same for every text.
    """

    name: str
    shape: tuple[int, ...]
    role: str
    dtype: str = "float32"


@dataclass(frozen=True)
class BlockPass:
    """One block in one program: where it stands, and what it may use.

    `length`: tokens of a sequence.  `reach` (t, 3) and `rotations`: for blocks that attend (see engine.graph.kernels).
    `state`: the block's own while decoding, None in training.  `rows`: while decoding, how many of the last rows are
    wanted (None: all).  `load`: where a training step counts the tokens of each expert.
    """

    tape: Tape
    network: Network
    prefix: str
    layer: int
    length: int
    reach: Tensor | None = None
    rotations: Tensor | None = None
    state: Mapping[str, View] | None = None
    rows: int | None = None
    load: ExpertLoad | None = None

    @property
    def decoding(self) -> bool:
        return self.state is not None

    def parameter(self, name: str) -> Parameter | None:
        return self.network.parameters.get(self.prefix + name)

    def projection(self, name: str, alpha: float = 1.0) -> Projection:
        """`name`.weight with its bias, its adapter and its packed copy, where there are any."""
        return self.network.projection(self.prefix + name, alpha)

    @property
    def dead(self) -> View | None:
        """Where the number of dead channels goes, in a step with insight."""
        return self.tape.layer_statistics(self.layer, LayerStatistics.DEAD)


class Block:
    """A residual block: x (t, m) in, x + something out."""

    def parameters(self) -> tuple[ParameterSpec, ...]:
        """In the order of the Hugging Face checkpoint."""
        raise TypeError(f"{type(self).__name__} states no parameters")

    def states(self) -> tuple[StateSpec, ...]:
        """What it keeps while decoding; nothing, where a token does not depend on those before it."""
        return ()

    @property
    def attends(self) -> bool:
        """Whether it needs `reach`."""
        return False

    @property
    def channels(self) -> int:
        """How many it looks through for dead ones in a step with insight."""
        return 0

    def prepare(self, at: BlockPass) -> None:
        """Emit what depends on the weights only; called whenever they have changed."""

    def forward(self, at: BlockPass, x: Tensor) -> Tensor:
        raise TypeError(f"{type(self).__name__} has no forward pass")
