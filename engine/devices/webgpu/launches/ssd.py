"""Launches of Mamba-2's scan (SSD): of many tokens and backward as matrix products, and of a few tokens.

The scan goes through several shaders, which share parameters, bindings and scratch memory (`_Call`).  Forward:

    ssd_decays         what has decayed up to each token of a chunk of 64
    ssd_scores         C_i B_j of a chunk, once for all heads of a group
    ssd_states         the state before each chunk: one product a chunk, carried on in registers
    ssd_mix            y: what tokens give each other in a chunk, and what they get from the state before it

Backward, after the same decays and scores:

    ssd_mix            what each token gets from those before it, times d_y
    ssd_d_scores       the gradient of C_i B_j
    ssd_d_projections  d_C, from that and from the states; sum_rows, where several workgroups share the heads
    ssd_states         the gradient of the state behind each chunk, in place of the state
    ssd_mix            d_x of the channels, from those gradients
    ssd_d_projections  d_B
    ssd_d_steps        d_steps, from the sums that ssd_mix and ssd_states have left
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.devices.webgpu.launch import AdapterTraits, Launch, Views, ceil_div, flat_grid, pack, start, whole
from engine.devices.webgpu.launches.decoding import few
from engine.graph.fused_kernels import SSD_GATED
from engine.graph.kernels import FEW_TOKENS, STATE_INTERVAL
from engine.graph.ssd import SsdShape
from engine.graph.tensor import View

LINES, COLUMNS = 64, 32  # of a workgroup's product
SQUARE = 32  # lines and columns of one in ssd_d_scores
ENOUGH_GROUPS = 512  # workgroups from which on a sum over all heads of a group is not divided among several


@dataclass(frozen=True)
class _Scratch:
    """Where each part begins, in words: of ssd as far as `d_scores`, of ssd_backward as far as `end`."""

    scores: int
    d_scores: int
    rows: int
    overlaps: int
    projections: int
    end: int

    @classmethod
    def of(cls, s: SsdShape) -> _Scratch:
        tokens, chunks = s.sequences * s.length, s.sequences * ceil_div(s.length, STATE_INTERVAL)
        scores = 2 * tokens * s.heads
        d_scores = scores + chunks * s.groups * STATE_INTERVAL**2
        rows = d_scores + _score_parts(s) * chunks * s.groups * STATE_INTERVAL**2
        overlaps = rows + 3 * _across(s) * tokens * s.heads
        projections = overlaps + chunks * s.heads * _state_tiles(s)
        parts = _projection_parts(s)
        end = projections + (parts * tokens * s.groups * s.state if parts > 1 else 0)
        return cls(scores, d_scores, rows, overlaps, projections, end)


def _across(s: SsdShape) -> int:
    """Workgroups that share the channels of a head."""
    return ceil_div(s.head_dim, COLUMNS)


def _state_tiles(s: SsdShape) -> int:
    """Workgroups that share the state of a head."""
    return ceil_div(s.state, LINES) * _across(s)


def _score_parts(s: SsdShape) -> int:
    """Workgroups that share the heads of a group in ssd_d_scores."""
    return _parts(s, STATE_INTERVAL // COLUMNS)


def _projection_parts(s: SsdShape) -> int:
    """The same in ssd_d_projections."""
    return _parts(s, ceil_div(s.state, COLUMNS))


def _parts(s: SsdShape, tiles: int) -> int:
    groups = s.sequences * ceil_div(s.length, STATE_INTERVAL) * s.groups * tiles
    return min(s.heads // s.groups, max(1, ENOUGH_GROUPS // groups))


def forward_scratch(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> int:
    return _Scratch.of(_shape(views, numbers)).d_scores


def backward_scratch(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> int:
    return _Scratch.of(_shape(views, numbers)).end


def _shape(views: Views, numbers: dict[str, float]) -> SsdShape:
    x, steps, _coefficients, states = views[:4]
    length, heads = int(numbers["length"]), steps.shape[1] // 2
    state, head_dim = states.shape[2] // heads, states.shape[3]
    groups = (x.shape[1] - heads * head_dim) // (2 * state)
    return SsdShape(x.shape[0] // length, length, heads, head_dim, groups, state)


class _Call:
    """One call of ssd or ssd_backward: makes its launches, with the parameters and bindings that all of them share."""

    def __init__(self, views: Views, numbers: dict[str, float]) -> None:
        x, steps, coefficients, states, d_y, result, d_steps, scratch = views
        self.shape = shape = _shape(views, numbers)
        self.chunks = ceil_div(shape.length, STATE_INTERVAL)
        places, at = _Scratch.of(shape), whole(scratch)
        self.parameters = pack(
            *(shape.sequences, shape.length, self.chunks, shape.heads, shape.head_dim, shape.groups, shape.state),
            x.shape[1],
            *(_score_parts(shape), _projection_parts(shape)),
            bool(numbers.get("carry", 0)),
            *(whole(view) for view in (x, steps, coefficients, states, d_y, result, d_steps)),
            *(at, at + places.scores, at + places.d_scores, at + places.rows, at + places.overlaps),
            at + places.projections,
        )
        self.bindings, self._partial = views, at + places.projections
        by_fours = shape.state % 4 == 0 and all(_on_grid(view) for view in (x, states, d_y, result))
        self.read = "vec4" if by_fours else "scalar"

    def lanes(self, shader: str) -> Launch:
        """A lane for each chunk and head."""
        lanes = self.shape.sequences * self.chunks * self.shape.heads
        return Launch(shader, self.bindings, self.parameters, flat_grid(ceil_div(lanes, 64)))

    def product(self, shader: str, groups: int, **constants: int) -> Launch:
        """A product with so many workgroups for each sequence."""
        constants = {name: float(value) for name, value in constants.items()}
        grid = flat_grid(self.shape.sequences * groups)
        return Launch(f"{shader}_{self.read}", self.bindings, self.parameters, grid, constants)

    def scores(self) -> Launch:
        return self.product("ssd_scores", self.chunks * self.shape.groups * STATE_INTERVAL // COLUMNS)

    def d_scores(self) -> Launch:
        squares = (STATE_INTERVAL // SQUARE) ** 2
        return self.product("ssd_d_scores", self.chunks * self.shape.groups * squares * _score_parts(self.shape))

    def states(self, backward: int) -> Launch:
        return self.product("ssd_states", self.shape.heads * _state_tiles(self.shape), backward=backward)

    def mix(self, mode: int) -> Launch:
        return self.product("ssd_mix", self.chunks * self.shape.heads * _across(self.shape), mode=mode)

    def projections(self, of_B: int) -> list[Launch]:
        """d_B or d_C, with the sum over parts of the heads where there are several."""
        s, parts = self.shape, _projection_parts(self.shape)
        tiles = ceil_div(s.state, COLUMNS)
        products = self.product("ssd_d_projections", self.chunks * s.groups * tiles * parts, of_B=of_B)
        if parts == 1:
            return [products]
        d_x, scratch = self.bindings[5], self.bindings[7]
        width, rows = s.groups * s.state, s.sequences * s.length
        first = d_x.offset + s.inner + (0 if of_B else width)
        parameters = pack(parts, rows * width, width, False, rows * width, d_x.stride, self._partial, first)
        grid = flat_grid(ceil_div(rows * width, 64))
        return [products, Launch("sum_rows", (scratch, d_x), parameters, grid)]


def _on_grid(view: View | None) -> bool:
    """Whether the operand can be bound as vec4: the tensor's end counts because a shader sees only whole vec4 of it."""
    return view is None or (view.offset % 4 == 0 and view.shape[-1] % 4 == 0 and view.tensor.size % 4 == 0)


def ssd(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    x, steps, coefficients, states, y, scratch = views
    call = _Call((x, steps, coefficients, states, None, y, None, scratch), numbers)
    return [call.lanes("ssd_decays"), call.scores(), call.states(backward=0), call.mix(0)]


def ssd_backward(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    call = _Call(views, numbers)
    return [
        *(call.lanes("ssd_decays"), call.scores()),
        *(call.mix(1), call.d_scores(), *call.projections(of_B=0)),
        call.states(backward=1),  # from here on there are gradients where the states were
        *(call.mix(2), *call.projections(of_B=1), call.lanes("ssd_d_steps")),
    ]


def ssd_steps(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    dt, coefficients, steps = views
    count, heads = dt.shape[0] * dt.shape[1], dt.shape[1]
    parameters = pack(count, heads, dt.stride, *_limits(numbers), start(dt), whole(coefficients), whole(steps))
    return [Launch("ssd_steps", views, parameters, flat_grid(ceil_div(count, 64)))]


def ssd_steps_backward(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    d_steps, steps, dt, coefficients, d_dt, d_coefficients = views
    tokens, heads = dt.shape
    parts = ceil_div(tokens, STATE_INTERVAL) if d_coefficients is None else d_coefficients.shape[0]
    parameters = pack(
        *(tokens, heads, parts, dt.stride, d_dt.stride if d_dt else 0, d_dt is not None, d_coefficients is not None),
        *_limits(numbers),
        *(whole(d_steps), whole(steps), start(dt), whole(coefficients), start(d_dt), whole(d_coefficients)),
    )
    return [Launch("ssd_steps_backward", views, parameters, flat_grid(ceil_div(parts * heads, 64)))]


def ssd_tokens(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    *operands, y = views
    return [_of_tokens("ssd_tokens", views, numbers, (*operands, y, None))]


def ssd_gated(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    *operands, z, g = views
    return [_of_tokens("ssd_gated", views, numbers, (*operands, g, z))]


def _of_tokens(shader: str, bindings: Views, numbers: dict[str, float], operands: Views) -> Launch:
    """`operands`: those of ssd_tokens and, where it is gated, z."""
    x, dt, coefficients, state, y, z = operands
    (tokens, heads), head_dim = dt.shape, state.shape[1]
    inner, n = heads * head_dim, state.shape[0] // heads
    parameters = pack(
        *(few(tokens), heads, head_dim, (x.shape[1] - inner) // (2 * n), n, x.shape[1], dt.stride),
        *_limits(numbers),
        *(whole(x), start(dt), whole(coefficients), whole(state), whole(y), start(z)),
    )
    header = {"TOKENS": 1 if tokens == 1 else FEW_TOKENS}  # not each number: every one would be compiled when it comes
    return Launch(shader, bindings, parameters, flat_grid(ceil_div(inner, 32)), header=header)


def _limits(numbers: dict[str, float]) -> tuple[float, float]:
    return float(numbers["lowest"]), float(numbers["highest"])


SCRATCH = {"ssd": forward_scratch, "ssd_backward": backward_scratch}
LAUNCHES = {
    "ssd_steps": ssd_steps,
    "ssd_steps_backward": ssd_steps_backward,
    "ssd": ssd,
    "ssd_backward": ssd_backward,
    "ssd_tokens": ssd_tokens,
    SSD_GATED: ssd_gated,
}
