"""The operations of a mixture of experts: which experts a token goes to, what they add, and how evenly they are used.

    x ─▶ router ─▶ k experts, gates ─▶ rows by expert ─▶ gate | up ─▶ silu(gate) · up · its gate ─▶ down ─▶ sum

Shapes: t tokens, e experts, k of them for a token, f width of an expert; x and out (t, m). An expert multiplies its own
rows and no more. The rows that are multiplied are made again for the backward instead of being kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from engine.graph.kernels import FEW_TOKENS, LayerStatistics, Statistics
from engine.graph.parameters import PackedMatrix, Parameter
from engine.graph.projections import Projection, unpacked
from engine.graph.tape import Tape
from engine.graph.tensor import Kind, Tensor, View

BLOCK_ROWS = 64  # tokens whose share of the load is summed in one go


class ExpertLoad:
    """How many tokens chose each expert in each layer of a training step, and the load-balancing term of its loss.

    With F the share of tokens that chose an expert and P the mean of its softmax, both over all layers, the term is
    factor * experts * F.P for each token that counts (those whose target is not negative).
    """

    def __init__(self, tape: Tape, layers: int, experts: int, targets: Tensor, factor: float) -> None:
        self.targets, self._factor = targets, factor
        self._counts = tape.new("expert_counts", (layers, experts))
        self._chances = tape.new("expert_chances", (layers, experts + 1))
        self.pull = tape.new("expert_pull", (experts,)) if factor else None
        """What a chance of each expert adds to the loss: known when the last layer has been computed."""

    def add(self, tape: Tape, layer: int, logits: Tensor, chosen: Tensor) -> None:
        """Count the tokens of a layer."""
        t, e = logits.shape
        parts = math.ceil(t / BLOCK_ROWS)
        counts = tape.new("expert_counts_parts", (parts, e), Kind.WORKSPACE)
        chances = tape.new("expert_chances_parts", (parts, e + 1), Kind.WORKSPACE)
        tape.emit("routing_sums", logits, chosen, self.targets, counts, chances)
        shown = tape.layer_statistics(layer, LayerStatistics.COUNT, e)
        for x, y in ((counts, self._counts), (chances, self._chances)) if self.pull else ():
            tape.emit("sum_rows", x, y.rows(layer, layer + 1), columns=y.shape[1], accumulate=0)
        if shown is not None:
            tape.emit("sum_rows", counts, shown, columns=e, accumulate=0)

    def emit_term(self, tape: Tape, scalars: Tensor) -> None:
        """Add the term to the loss; what it pulls is ready for the backward of every layer."""
        if self.pull is not None:
            loss = tape.statistics().view(Statistics.LOSS_SUM, (1,))
            tape.emit("balance", self._counts, self._chances, scalars, loss, self.pull, factor=float(self._factor))


@dataclass(frozen=True)
class Experts:
    """A router (e, m) and the matrices of its experts: gate and up (e, 2f, m), down (e, m, f).

    `chosen`: experts of a token; `factor`: of what they add.
    """

    router: Projection
    inputs: Projection
    output: Projection
    chosen: int
    factor: float

    def trained(self, tape: Tape) -> bool:
        return any(projection.trained(tape) for projection in (self.router, self.inputs, self.output))


def add_experts(
    tape: Tape, x: Tensor, experts: Experts, out: Tensor, layer: int, load: ExpertLoad | None, decoding: bool
) -> None:
    """out += factor * what the chosen experts of each token make of x, in place."""
    (t, _), (e, m) = x.shape, experts.router.weight.shape
    wide, k = experts.inputs.weight.shape[1], experts.chosen
    logits = experts.router.forward(tape, x, "routed")
    chosen, gates = tape.new("chosen", (t, k), dtype="int32"), tape.new("gates", (t, k))
    tape.emit("route", logits, chosen, gates)
    joined, g = tape.new("expert_gate_up", (t * k, wide)), tape.new("expert_gated", (t * k, wide // 2))
    rows = tape.new("expert_rows", (t * k, m))
    if decoding and t <= FEW_TOKENS:
        _few_rows(tape, x, experts.inputs, chosen, joined)
        tape.emit("routed_swiglu", joined, gates, None, g)
        _few_rows(tape, g, experts.output, chosen, rows)
        tape.emit("combine", rows, None, out, factor=experts.factor)
        return
    order, tokens = (tape.new(name, (t * k,), dtype="int32") for name in ("order", "sorted_tokens"))
    places, starts = tape.new("places", (t, k), dtype="int32"), tape.new("starts", (e + 1,), dtype="int32")
    tape.emit("group_rows", chosen, order, tokens, places, starts)

    def sorted_rows(name: str, source: Tensor) -> Tensor:
        target = tape.new(name, (t * k, m))
        tape.emit("embedding_gather", tokens, source, target, first_row=0)
        return target

    tape.emit("grouped_nt", sorted_rows("sorted", x), _all_rows(tape, experts.inputs), starts, joined)
    tape.emit("routed_swiglu", joined, gates, order, g)
    tape.emit("grouped_nt", g, _all_rows(tape, experts.output), starts, rows)
    tape.emit("combine", rows, places, out, factor=experts.factor)
    if load is not None:
        load.add(tape, layer, logits, chosen)
    if not (tape.wants(x) or experts.trained(tape)):
        return

    def backward() -> None:
        d_rows = sorted_rows("d_expert_rows", tape.gradient(out))
        d_g, d_gates = tape.new("d_expert_gated", g.shape), tape.new("d_gates", (t, k))
        again, factor = tape.new("expert_gated_again", g.shape), experts.factor
        tape.emit("grouped_nn", d_rows, _all_rows(tape, experts.output), starts, d_g, alpha=factor)
        tape.emit("routed_swiglu_backward", d_g, joined, gates, order, again, d_gates)
        _weight_gradient(tape, experts.output.weight, d_rows, again, starts, factor)
        if tape.trained(experts.inputs.weight):
            _weight_gradient(tape, experts.inputs.weight, joined, sorted_rows("sorted_again", x), starts, 1.0)
        d_logits = tape.new("d_routed", logits.shape)
        pull = load.pull if load is not None else None
        targets = load.targets if pull is not None else None
        tape.emit("route_backward", d_gates, gates, chosen, logits, pull, targets, d_logits)
        d_low = experts.router.pass_gradient(tape, d_logits, x)
        experts.router.weight_gradients(tape, d_logits, d_low, x)
        if tape.wants(x):
            d_sorted = tape.new("d_sorted", (t * k, m))
            tape.emit("grouped_nn", joined, _all_rows(tape, experts.inputs), starts, d_sorted, alpha=1.0)
            tape.emit("combine", d_sorted, places, tape.gradient(x), factor=1.0)

    tape.record(out, backward)


def _all_rows(tape: Tape, projection: Projection) -> Tensor | View:
    """The matrices of all experts below each other, in float32."""
    matrix = unpacked(tape, projection.matrix)
    return matrix.view(shape=(matrix.size // matrix.shape[-1], matrix.shape[-1]))


def _few_rows(tape: Tape, inputs: Tensor, projection: Projection, chosen: Tensor, c: Tensor) -> None:
    """c (t*k, j) = each row of inputs (t or t*k, i) by the matrices of the experts that were chosen for it."""
    matrix = projection.matrix
    if not isinstance(matrix, PackedMatrix):
        tape.emit("expert_rows_nt", inputs, _all_rows(tape, projection), chosen, c)
    elif matrix.scales is None:
        tape.emit("expert_rows_nt_float16", inputs, matrix.numbers, chosen, c)
    else:
        tape.emit("expert_rows_nt_int8", inputs, matrix.numbers, chosen, c, matrix.scales)


def _weight_gradient(tape: Tape, weight: Parameter, d_y: Tensor, x: Tensor, starts: Tensor, factor: float) -> None:
    """d_weight (e, out, in) (+)= factor * d_y^T x, expert by expert, where it is trained."""
    trained = tape.trained(weight)
    if trained is not None:
        e, out, wide = weight.shape
        gradient = trained.gradient.view(shape=(e * out, wide))
        accumulate = int(tape.accumulates(trained.gradient))
        tape.emit("grouped_tn", d_y, x, starts, gradient, alpha=factor, accumulate=accumulate)
