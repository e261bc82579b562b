"""The operations of a dense decoder: each emits its forward kernels and records its backward.

Shapes: t tokens, q (t, heads * head_dim), k and v (t, groups * head_dim), reach (t, 3), f width of the gated MLP. The
heads of a token lie side by side; for the norm of a head they are rows of their own, on the same memory.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.graph.gating import count_dead
from engine.graph.projections import Projection
from engine.graph.tape import Tape
from engine.graph.tensor import Tensor, View


@dataclass(frozen=True)
class AttentionShape:
    """heads and groups (key heads) of `head_dim` channels; scores are multiplied by `scale`."""

    heads: int
    groups: int
    head_dim: int
    scale: float


@dataclass(frozen=True)
class Cache:
    """Keys and values (positions, groups * head_dim) in float16 of what was read before."""

    keys: View
    values: View


def attend(
    tape: Tape,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    shape: AttentionShape,
    reach: View,
    rotations: Tensor | None,
    length: int,
    cache: Cache | None = None,
) -> Tensor:
    """y (t, heads * head_dim): rotation (where there are `rotations`), then attention over what each token may see.

    A head may be a row of its own in q, k and v.  While decoding, keys and values first go to the `cache`, and what it
    holds is what is seen; q may then have the last rows only.
    """
    t, asked = reach.shape[0], q.size // (shape.heads * shape.head_dim)
    q_rows, k_rows, v_rows = (x.view(shape=(n, x.size // n)) for x, n in ((q, asked), (k, t), (v, t)))
    q_reach = View(reach.tensor, reach.offset + 3 * (t - asked), (asked, 3), 3)
    numbers = {"head_dim": shape.head_dim, "scale": shape.scale}
    if rotations is not None:
        for x, own in ((q_rows, q_reach), (k_rows, reach)):
            tape.emit("rope", x, own, rotations, head_dim=shape.head_dim, sign=1)
    y = tape.new("attended", (asked, shape.heads * shape.head_dim))
    if cache is not None:
        tape.emit("cache_append", k_rows, reach, cache.keys)
        tape.emit("cache_append", v_rows, reach, cache.values)
        tape.emit("attention_cached", q_rows, cache.keys, cache.values, q_reach, y, **numbers)
        return y
    sums = tape.new("attention_sums", (t, 2 * shape.heads))
    tape.emit("attention", q_rows, k_rows, v_rows, reach, y, sums, **numbers)
    if not any(map(tape.wants, (q, k, v))):
        return y

    def backward() -> None:
        d_y = tape.gradient(y)
        tape.emit("attention_deltas", d_y, y, sums, head_dim=shape.head_dim)
        known = (d_y, q_rows, k_rows, v_rows, reach, sums)
        d_q, d_k, d_v = (tape.gradient_to_fill(x)[0].view(shape=(t, x.size // t)) for x in (q, k, v))
        tape.emit("attention_backward_queries", *known, d_q, **numbers)
        tape.emit("attention_backward_keys", *known, d_k, d_v, **numbers, length=length)
        if rotations is not None:
            for d_x in (d_q, d_k):
                tape.emit("rope", d_x, reach, rotations, head_dim=shape.head_dim, sign=-1)

    tape.record(y, backward)
    return y


def gated_mlp(
    tape: Tape,
    x: Tensor,
    inputs: tuple[Projection, ...],
    output: Projection,
    residual: Tensor | View,
    dead: View | None = None,
) -> Tensor:
    """residual + output(silu(gate) * up).  `inputs`: one projection to gate | up (t, 2f), or two, to gate and to up."""
    t, wide = x.shape[0], sum(projection.weight.shape[0] for projection in inputs)
    joined = tape.new("gate_up", (t, wide))
    borders = [0]
    for projection in inputs:
        borders.append(borders[-1] + projection.weight.shape[0])
        projection.forward(tape, x, "", into=joined.columns(borders[-2], borders[-1]))
    g = tape.new("gated", (t, wide // 2))
    tape.emit("swiglu", joined, g)
    out = output.forward(tape, g, "residual", residual)
    if not (tape.wants(x) or tape.wants(residual) or any(p.trained(tape) for p in (*inputs, output))):
        return out
    tape.want(g)

    def backward() -> None:
        d_out = tape.gradient(out)
        d_low = output.pass_gradient(tape, d_out, g)
        d_g = tape.gradient(g)
        again = tape.new("gated_again", g.shape)
        tape.emit("swiglu_backward", d_g, joined, again)
        if dead is not None:
            count_dead(tape, again, d_g, dead)
        output.weight_gradients(tape, d_out, d_low, again)
        for projection, first, last in zip(inputs, borders, borders[1:], strict=False):
            d_part = joined.columns(first, last)
            d_low = projection.pass_gradient(tape, d_part, x)
            projection.weight_gradients(tape, d_part, d_low, x)
        if tape.wants(residual):
            tape.set_gradient(residual, d_out)  # the residual stream: the layer below gets the same buffer

    tape.record(out, backward)
    return out


def output_projection(tape: Tape, y: Tensor, projection: Projection, residual: Tensor | View) -> Tensor:
    """residual + projection(y)."""
    out = projection.forward(tape, y, "residual", residual)
    if not (tape.wants(y) or tape.wants(residual) or projection.trained(tape)):
        return out

    def backward() -> None:
        d_out = tape.gradient(out)
        d_low = projection.pass_gradient(tape, d_out, y)
        projection.weight_gradients(tape, d_out, d_low, y)
        if tape.wants(residual):
            tape.set_gradient(residual, d_out)

    tape.record(out, backward)
    return out
