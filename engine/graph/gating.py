"""What closes a mixer: its output gated, normed where the model says so, and projected back to the residual stream.

Neither the product y * silu(z) nor its norm is kept: they are made again when the gradient of the weights needs them
(without a norm by `gate_backward`, in the place of y).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from engine.graph.operations import NORM_BLOCK_ROWS, same_columns
from engine.graph.parameters import Parameter
from engine.graph.projections import Projection, sum_parts
from engine.graph.tape import Tape
from engine.graph.tensor import Kind, Tensor, View

DEAD_SHARE = 1e-3  # of the layer's root mean square, at which a channel counts as dead


@dataclass(frozen=True)
class GroupNorm:
    """A root-mean-square norm over each of `groups` equal parts of a row.  scale: (d,)."""

    scale: Parameter
    groups: int
    epsilon: float

    def forward(self, tape: Tape, g: Tensor) -> tuple[Tensor, Tensor]:
        """The norm of g (t, d), and its inverse root mean squares (t * groups,)."""
        normed, inverse_rms = tape.new("gated_normed", g.shape), tape.new("inverse_rms", (g.shape[0] * self.groups,))
        parts = (self._parts(g), self.scale.tensor, self._parts(normed), inverse_rms)
        tape.emit("rmsnorm", *parts, epsilon=self.epsilon)
        return normed, inverse_rms

    def backward(self, tape: Tape, d_normed: Tensor, g: Tensor, inverse_rms: Tensor) -> Tensor:
        """The gradient of g; that of the scale goes where it is wanted."""
        trained, d_g = tape.trained(self.scale), tape.new("d_gated", g.shape)
        count = math.ceil(inverse_rms.size / NORM_BLOCK_ROWS)
        partial = tape.new("d_scale_parts", (count, self.scale.shape[0]), Kind.WORKSPACE) if trained else None
        tape.emit(
            "rmsnorm_backward",
            self._parts(d_normed), self._parts(g), self.scale.tensor, inverse_rms, self._parts(d_g), partial,
            accumulate=0,
        )  # fmt: skip
        if trained:
            sum_parts(tape, partial.view(), trained.gradient)
        return d_g

    def _parts(self, x: Tensor) -> View:
        t, d = x.shape
        return x.view(shape=(t * self.groups, d // self.groups))


def gated_projection(
    tape: Tape,
    y: Tensor,
    z: View,
    projection: Projection,
    residual: Tensor,
    dead: View | None = None,
    rows: int | None = None,
    norm: GroupNorm | None = None,
) -> Tensor:
    """residual + projection(y * silu(z)), or of the norm of that product.  z (t, d): columns of a matrix.

    `dead` (1, 1), where given, gets the number of dead channels.  `rows`: only so many of the last rows are wanted,
    while decoding.
    """
    if rows is not None and rows < y.shape[0]:
        return _last_rows_gated(tape, y, z, projection, residual, rows, norm)
    g, normed = _gated(tape, y.view(), z, norm)
    out = projection.forward(tape, normed, "residual", residual)
    if not (tape.wants(y) or tape.wants(z.tensor) or tape.wants(residual) or projection.trained(tape)):
        return out
    tape.want(normed)

    def backward() -> None:
        d_out = tape.gradient(out)
        d_low = projection.pass_gradient(tape, d_out, normed)
        d_g = tape.gradient(normed)
        if norm is not None:
            again = tape.new("gated_again", g.shape)
            tape.emit("gate", y, z, again)
            normed_again, inverse_rms = norm.forward(tape, again)
            projection.weight_gradients(tape, d_out, d_low, normed_again)
            d_g = norm.backward(tape, d_g, again, inverse_rms)
        d_z = same_columns(tape.gradient_to_fill(z.tensor)[0], z) if tape.wants(z.tensor) else None
        tape.emit("gate_backward", d_g, y, z, d_z)
        tape.set_gradient(y, d_g)  # in place, and y holds the product again
        if dead is not None:
            count_dead(tape, y, d_g, dead)
        if norm is None:
            projection.weight_gradients(tape, d_out, d_low, y)
        if tape.wants(residual):
            tape.set_gradient(residual, d_out)  # the residual stream: the layer below gets the same buffer

    tape.record(out, backward)
    return out


def _gated(tape: Tape, y: View, z: View, norm: GroupNorm | None) -> tuple[Tensor, Tensor]:
    """The product y * silu(z), and its norm where there is one, else itself again."""
    g = tape.new("gated", y.shape)
    tape.emit("gate", y, z, g)
    return g, g if norm is None else norm.forward(tape, g)[0]


def _last_rows_gated(
    tape: Tape, y: Tensor, z: View, projection: Projection, residual: Tensor, rows: int, norm: GroupNorm | None
) -> Tensor:
    if rows == 0:
        return residual
    (t, d), first = y.shape, y.shape[0] - rows
    last = View(z.tensor, z.offset + first * z.stride, (rows, d), z.stride)
    _, normed = _gated(tape, y.rows(first, t), last, norm)
    return projection.forward(tape, normed, "residual", residual.rows(first, t))


def count_dead(tape: Tape, g: Tensor, d_y: Tensor, dead: View) -> None:
    """Count the channels of a layer that take no part over the whole batch.

    Dead is a channel through which nothing goes out (its column of the gated output g is next to zero at every token)
    or nothing comes back (its column of d_y, the gradient that has passed the gate, is). Next to zero: a root mean
    square of at most `DEAD_SHARE` of that of all channels of the layer, so that the size of a layer's numbers, which
    differs from layer to layer, plays no part.
    """
    t, d = g.shape
    squares = []
    for x in (g, d_y):
        parts = tape.new("channel_squares_parts", (math.ceil(t / NORM_BLOCK_ROWS), d), Kind.WORKSPACE)
        tape.emit("column_squares", x, parts)
        squares.append(tape.new("channel_squares", (d,), Kind.WORKSPACE))
        tape.emit("sum_rows", parts, squares[-1].view(shape=(1, d)), columns=d, accumulate=0)
    tape.emit("dead_channels", *squares, View(dead.tensor, dead.offset, (1,), 1), share=DEAD_SHARE)
