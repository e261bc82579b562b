"""The operations of a Mamba-1 model, besides `gating`: each emits its forward kernels and records its backward.

Shapes: t = b*l tokens, m model width, d inner width, n state size, r rank of delta, v vocabulary. Gradients are `d_`
+ name. Several backward kernels work in place (`gate_backward`, `selective_scan_backward`): the buffer of a gradient
that is used up becomes the next one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from engine.graph.kernels import FEW_TOKENS, STATE_INTERVAL
from engine.graph.parameters import IndexedRows, Matrix, PackedMatrix, Parameter, TrainedRows
from engine.graph.projections import Projection, multiply, product, sum_parts, unpacked, weight_gradient
from engine.graph.tape import Tape
from engine.graph.tensor import Kind, Tensor, View

LOGITS_BYTES = 8 * 2**20  # logits held at a time: small enough for a cache, where the vocabulary is small
LOGITS_ROWS = 256  # with a large one: as many tokens as a matrix product needs to be fast, within LOGITS_MOST
LOGITS_MOST = 64 * 2**20
LOGITS_MIN_ROWS = 64
PACKED_MIN_ROWS = 128  # where the head is packed, and has to be widened anew for each such chunk
ROWS_OF_A_TILE = 64  # of a matrix product on a GPU
NORM_BLOCK_ROWS = 64  # rows whose share of the norm's scale gradient is summed in one go


def embedding(
    tape: Tape,
    ids: Tensor | View,
    order: Tensor | None,
    table: Parameter,
    places: Tensor | None = None,
    factor: float = 1.0,
) -> Tensor:
    """factor * rows of `table` (v, m) for `ids` (t,).

    Where the table is trained, `places` (t,) says which trained row each token has, negative for none (not given: the
    ids themselves), and `order` is their stable argsort.
    """
    x = tape.new("embedded", (ids.shape[0], table.shape[1]))
    for first_row, block in zip(table.first_rows, table.blocks, strict=True):
        _gather(tape, ids, block, x, first_row)
    scale(tape, x.view(), factor)
    trained = tape.trained(table)
    if trained is None:
        return x

    def backward() -> None:
        scale(tape, tape.gradient(x).view(), factor)
        for start, d_table in zip(trained.starts, trained.gradients, strict=True):
            if not tape.accumulates(d_table):
                tape.emit("fill", d_table.view(shape=(d_table.size,)), value=0.0)
            tape.emit("embedding_scatter", places or ids, order, tape.gradient(x), d_table, first_row=start)

    tape.record(x, backward)
    return x


def scale(tape: Tape, x: View, factor: float) -> None:
    """x *= factor."""
    if factor != 1.0:
        tape.emit("scale", x, rows=x.shape[0], columns=x.shape[1], factor=factor)


def scale_in_place(tape: Tape, x: Tensor, parts: Sequence[View], factors: Sequence[float]) -> None:
    """Columns of x (t, m) times their factors, and their gradients likewise; what was there before is gone."""
    for part, factor in zip(parts, factors, strict=True):
        scale(tape, part, factor)
    if not tape.wants(x) or all(factor == 1.0 for factor in factors):
        return

    def backward() -> None:
        for part, factor in zip(parts, factors, strict=True):
            scale(tape, same_columns(tape.gradient(x), part), factor)

    tape.record(x, backward)


def _gather(tape: Tape, ids: Tensor | View, block: Matrix, x: Tensor, first_row: int) -> None:
    """Rows of a block of a table, which begins with `first_row`, into x (t, m)."""
    if isinstance(block, Tensor):
        tape.emit("embedding_gather", ids, block, x, first_row=first_row)
    elif block.scales is None:
        tape.emit("embedding_gather_float16", ids, block.numbers, x, first_row=first_row)
    else:
        tape.emit("embedding_gather_int8", ids, block.numbers, block.scales, x, first_row=first_row)


def rmsnorm(tape: Tape, x: Tensor, scale: Parameter, epsilon: float) -> Tensor:
    """scale * x / rms(x).  x: (t, m)."""
    t, m = x.shape
    y = tape.new("normed", (t, m))
    inverse_rms = tape.new("inverse_rms", (t,))
    tape.emit("rmsnorm", x, scale.tensor, y, inverse_rms, epsilon=epsilon)
    trained = tape.trained(scale)
    if not tape.wants(x) and trained is None:
        return y

    def backward() -> None:
        parts = math.ceil(t / NORM_BLOCK_ROWS)
        partial = tape.new("d_scale_parts", (parts, m), Kind.WORKSPACE) if trained else None
        d_x, holds = tape.gradient_to_fill(x)
        tape.emit(
            "rmsnorm_backward", tape.gradient(y), x, scale.tensor, inverse_rms, d_x, partial, accumulate=int(holds)
        )
        if trained:
            sum_parts(tape, partial.view(), trained.gradient)

    tape.record(y, backward)
    return y


def linear(tape: Tape, x: Tensor | View, projection: Projection, name: str = "projected", heads: int = 1) -> Tensor:
    """projection(x).  x: (t, in).  With several `heads`, each is a row of its own: (t * heads, out / heads)."""
    t, wide = x.shape[0], projection.weight.shape[0]
    y = tape.new(name, (t * heads, wide // heads))
    projection.forward(tape, x, name, into=y.view(shape=(t, wide)))
    if not (tape.wants(x) or projection.trained(tape)):
        return y

    def backward() -> None:
        d_y = tape.gradient(y).view(shape=(t, wide))
        d_low = projection.pass_gradient(tape, d_y, x)
        projection.weight_gradients(tape, d_y, d_low, x)

    tape.record(y, backward)
    return y


def same_columns(other: Tensor, columns: View) -> View:
    """The columns of `other` that `columns` are of a matrix of the same shape."""
    return View(other, columns.offset, columns.shape, columns.stride)


def causal_conv_silu(
    tape: Tape,
    x: View,
    weight: Parameter,
    bias: Parameter | None,
    length: int,
    history: View | None = None,
    decoding: bool = False,
) -> Tensor:
    """silu of the depthwise convolution over x (t, d), columns of a matrix; weight: (d, 1, k).

    `decoding`: one sequence continues from `history` (k-1, d), which is then updated; absent for a single tap.
    """
    t, d = x.shape
    taps = weight.tensor.view(shape=(d, weight.shape[2]))
    bias_tensor = bias.tensor if bias else None
    u = tape.new("u", (t, d))
    if decoding and t <= FEW_TOKENS:
        tape.emit("causal_conv_silu_tokens", x, taps, bias_tensor, history, u)
        return u
    before = history and View(history.tensor, history.offset, (1, *history.shape), d)
    tape.emit("causal_conv_silu", x, taps, bias_tensor, before, u, length=length)
    if history is not None:
        tape.emit("carry_history", x, history)
    trained_weight, trained_bias = tape.trained(weight), tape.trained(bias)
    wide = x.tensor
    if not (tape.wants(wide) or trained_weight or trained_bias):
        return u

    def backward() -> None:
        batch = t // length
        d_x = same_columns(tape.gradient_to_fill(wide)[0], x) if tape.wants(wide) else None
        d_weight = tape.new("d_taps", (batch, *taps.shape), Kind.WORKSPACE) if trained_weight else None
        d_bias = tape.new("d_conv_bias", (batch, d), Kind.WORKSPACE) if trained_bias else None
        tape.emit(
            "causal_conv_silu_backward",
            tape.gradient(u), x, taps, bias_tensor, d_x, d_weight, d_bias,
            length=length,
        )  # fmt: skip
        if d_weight is not None:
            sum_parts(tape, d_weight.view(shape=(batch, d * taps.shape[1])), trained_weight.gradient)
        if d_bias is not None:
            sum_parts(tape, d_bias.view(), trained_bias.gradient)

    tape.record(u, backward)
    return u


def selective_state_space(
    tape: Tape,
    u: Tensor,
    x_proj: Parameter,
    dt_proj: Parameter,
    dt_bias: Parameter,
    A_log: Parameter,
    D: Parameter,
    length: int,
    state: View | None = None,
    coefficients: View | None = None,
) -> Tensor:
    """y of the selective scan over u (t, d), with delta, B and C projected from u.

    x_proj: (r+2n, d), dt_proj: (d, r), A_log: (d, n). While decoding, one sequence continues from `state` (n, d),
    which is then updated, with the prepared `coefficients` (n+2, d).
    """
    (t, d), (_, n), r = u.shape, A_log.shape, dt_proj.shape[1]
    batch = t // length
    x_dbl = tape.new("x_dbl", (t, r + 2 * n))
    product(tape, "nt", u, x_proj.tensor, x_dbl)
    delta = tape.new("delta", (t, d))
    product(tape, "nt", x_dbl.columns(0, r), dt_proj.tensor, delta)
    y = tape.new("y", (t, d))
    if state is not None and t <= FEW_TOKENS:
        tape.emit("selective_scan_tokens", u, delta, x_dbl, coefficients, state, y, rank=r)
        return y
    if coefficients is None:
        coefficients = tape.new("coefficients", (n + 2, d))
        tape.emit("scan_coefficients", A_log.tensor, D.tensor, dt_bias.tensor, coefficients)
    states = tape.new("states", (batch, math.ceil(length / STATE_INTERVAL) + 1, n, d))
    if state is not None:
        tape.emit("carry_state", View(state.tensor, state.offset, (1, n, d), d), states.view(0, (n, d)))
    tape.emit(
        "selective_scan",
        u, delta, x_dbl, coefficients, states, y, _workspace(tape, "selective_scan", batch, length, d, n),
        length=length, rank=r, carry=int(state is not None),
    )  # fmt: skip
    if state is not None:
        tape.emit("carry_state", states.view(0, states.shape[1:]), state)
        return y
    want_coefficients = any(map(tape.trained, (A_log, D, dt_bias)))
    want_inputs = tape.wants(u) or want_coefficients or bool(tape.trained(dt_proj))
    trained_rows = tape.trained(x_proj)
    if not (want_inputs or trained_rows):
        return y
    want_inputs = want_inputs or trained_rows.first < r

    def backward() -> None:
        d_y = tape.gradient(y)
        blocks = math.ceil(d / tape.device.scan_channel_block)
        channel_sums = blocks * t * 2 * n
        sequence_sums = batch * (n + 2) * d if want_coefficients else 0
        partials = tape.new("scan_sums", (channel_sums + sequence_sums,), Kind.WORKSPACE)
        tape.emit(
            "selective_scan_backward",
            u, delta, x_dbl, coefficients, states, d_y, partials,
            _workspace(tape, "selective_scan_backward", batch, length, d, n),
            length=length, rank=r, want_inputs=int(want_inputs), want_coefficients=int(want_coefficients),
        )  # fmt: skip
        d_delta, d_u = delta, d_y  # in place
        d_x_dbl = tape.new("d_x_dbl", x_dbl.shape)
        d_BC = d_x_dbl.columns(r, r + 2 * n)
        tape.emit("sum_rows", partials.view(shape=(blocks, t * 2 * n)), d_BC, columns=2 * n, accumulate=0)
        if want_coefficients:
            tape.emit(
                "scan_coefficients_backward",
                partials.view(offset=channel_sums, shape=(batch, n + 2, d)), coefficients,
                tape.trained(A_log).gradient, tape.trained(D).gradient, tape.trained(dt_bias).gradient,
                accumulate=int(tape.accumulates(tape.trained(A_log).gradient)),
            )  # fmt: skip
        if want_inputs:
            product(tape, "nn", d_delta, dt_proj.tensor, d_x_dbl.columns(0, r))
            weight_gradient(tape, dt_proj, d_delta.view(), x_dbl.columns(0, r))
        weight_gradient(tape, x_proj, d_x_dbl.view(), u)
        if tape.wants(u):
            product(tape, "nn", d_x_dbl, x_proj.tensor, d_u, accumulate=True)
            tape.set_gradient(u, d_u)

    tape.record(y, backward)
    return y


def head_rows(head: Parameter, t: int, device) -> int:
    """How many tokens' logits are held at a time: as many as a cache takes, or, where the device says how many bytes
    keep it busy, these in equal chunks.
    """
    row_bytes, max_binding_bytes = 4 * head.shape[0], device.limits.max_binding_bytes
    if device.logits_bytes:
        most = max(1, min(device.logits_bytes, max_binding_bytes) // row_bytes)
        chunks = math.ceil(t / most)
        return min(most, t, ROWS_OF_A_TILE * math.ceil(t / chunks / ROWS_OF_A_TILE))
    least = PACKED_MIN_ROWS if any(isinstance(block, PackedMatrix) for block in head.blocks) else LOGITS_MIN_ROWS
    rows = max(least, LOGITS_BYTES // row_bytes, min(LOGITS_ROWS, LOGITS_MOST // row_bytes))
    return max(1, min(rows, t, max_binding_bytes // row_bytes))


def cross_entropy(
    tape: Tape, x: Tensor, head: Parameter, targets: Tensor, scalars: Tensor, factor: float = 1.0
) -> Tensor:
    """Per-token losses (t,) of x (t, m) against targets, in chunks of tokens: the full (t, v) logits are never held.

    `factor`: what the logits are multiplied by.

    The gradient of a chunk's logits is there as soon as its loss is, so d_x and the head's gradient are computed at
    once, not in `backward`.
    """
    t, v = x.shape[0], head.shape[0]
    losses = tape.new("losses", (t,))
    trained = tape.trained(head)
    want_gradient = tape.wants(x) or trained is not None
    rows = head_rows(head, t, tape.device)
    d_x = tape.gradient_to_fill(x)[0] if tape.wants(x) else None
    for start in range(0, t, rows):
        stop = min(start + rows, t)
        logits = tape.new("logits", (stop - start, v), Kind.WORKSPACE)
        head_logits(tape, x.rows(start, stop), head, logits, factor)
        tape.emit(
            "cross_entropy",
            logits, targets.rows(start, stop), losses.rows(start, stop), scalars,
            want_gradient=int(want_gradient),
        )  # fmt: skip
        if d_x is not None:
            for first_row, block in zip(head.first_rows, head.blocks, strict=True):
                d_logits = logits.columns(first_row, first_row + block.shape[0])
                product(tape, "nn", d_logits, unpacked(tape, block), d_x.rows(start, stop), first_row > 0, factor)
        if trained is not None:
            _head_gradient(tape, trained, logits, x.rows(start, stop), factor)
    return losses


def _head_gradient(tape: Tape, trained: TrainedRows | IndexedRows, d_logits: Tensor, x: View, factor: float) -> None:
    """d_head (+)= factor * d_logits^T x for what is trained of the head: d_logits (t, v), x (t, m)."""
    if isinstance(trained, TrainedRows):
        columns = [
            d_logits.columns(first_row, first_row + block.shape[0])
            for first_row, block in zip(trained.parameter.first_rows, trained.parameter.blocks, strict=True)
        ]
    else:  # the gradient of all rows of the table never exists: only these columns go into the product
        columns = []
        for block in trained.blocks:
            columns.append(tape.new("d_trained_logits", (d_logits.shape[0], block.ids.size), Kind.WORKSPACE))
            tape.emit("gather_columns", block.ids, d_logits, columns[-1])
    for d_rows, gradient in zip(columns, trained.gradients, strict=True):
        product(tape, "tn", d_rows, x, gradient, tape.accumulates(gradient), factor)


def head_logits(tape: Tape, x: Tensor | View, head: Parameter, logits: Tensor, factor: float = 1.0) -> None:
    """factor * x (t, m) @ head (v, m)^T into logits (t, v), block by block of the vocabulary."""
    for first_row, block in zip(head.first_rows, head.blocks, strict=True):
        multiply(tape, x, block, logits.columns(first_row, first_row + block.shape[0]), None, None, factor)


def _workspace(tape: Tape, kernel: str, b: int, l: int, d: int, n: int) -> Tensor | None:
    elements = tape.device.workspace_elements(kernel, b, l, d, n)
    return tape.new("scan_workspace", (elements,), Kind.WORKSPACE) if elements else None
