"""Matrices that are multiplied with: float32, or packed in 16 or 8 bits, with bias, adapter and a factor.

A packed matrix is multiplied as it is by a few rows; for many rows it is first made float32 again, in working memory,
so that both see the very same weights.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.graph.kernels import FEW_TOKENS
from engine.graph.parameters import LowRankPair, Matrix, PackedMatrix, Parameter
from engine.graph.tape import Tape
from engine.graph.tensor import Kind, Tensor, View, view_of


def product(tape: Tape, layout: str, a, b, c, accumulate: bool = False, alpha: float = 1.0) -> None:
    """c (+)= alpha * a b, transposed as `layout` says: "nt", "nn" or "tn"."""
    tape.emit(f"matmul_{layout}", a, b, c, None, None, alpha=float(alpha), accumulate=int(accumulate))


def weight_gradient(tape: Tape, weight: Parameter, d_y: View, x: Tensor | View, alpha: float = 1.0) -> None:
    """d_weight = alpha * d_y^T x for the rows of `weight` that are trained, if any: d_y (t, out), x (t, in)."""
    trained = tape.trained(weight)
    if trained is not None:
        d_rows = View(d_y.tensor, d_y.offset + trained.first, (d_y.shape[0], trained.last - trained.first), d_y.stride)
        product(tape, "tn", d_rows, x, trained.gradient, tape.accumulates(trained.gradient), alpha)


def sum_parts(tape: Tape, parts: View, gradient: Tensor) -> None:
    """gradient (+)= sum of parts (p, size) over p."""
    row = gradient.view(shape=(1, gradient.size))
    tape.emit("sum_rows", parts, row, columns=gradient.size, accumulate=int(tape.accumulates(gradient)))


def multiply(
    tape: Tape, x: Tensor | View, matrix: Tensor | PackedMatrix, y: Tensor | View, residual, bias, alpha: float = 1.0
) -> None:
    """y (t, out) = alpha * x (t, in) @ matrix (out, in)^T, with `residual` (t, out) and `bias` (out,) where given."""
    if isinstance(matrix, PackedMatrix) and x.shape[0] > FEW_TOKENS:
        matrix = widened(tape, matrix)
    numbers = {"alpha": float(alpha), "accumulate": 0}
    if isinstance(matrix, Tensor):
        tape.emit("matmul_nt", x, matrix, y, residual, bias, **numbers)
    elif matrix.scales is None:
        tape.emit("matmul_nt_float16", x, matrix.numbers, y, residual, bias, **numbers)
    else:
        tape.emit("matmul_nt_int8", x, matrix.numbers, y, residual, bias, matrix.scales, **numbers)


def widened(tape: Tape, matrix: PackedMatrix) -> Tensor:
    """A packed matrix as float32 (rows, columns), in working memory."""
    wide = tape.new("widened", (matrix.rows, matrix.columns), Kind.WORKSPACE)
    if matrix.scales is None:
        tape.emit("widen_float16", *(tensor.view(shape=(tensor.size,)) for tensor in (matrix.numbers, wide)))
    else:
        tape.emit("widen_int8", matrix.numbers, matrix.scales, wide)
    return wide


def unpacked(tape: Tape, matrix: Matrix) -> Tensor:
    """`matrix` in float32: itself, or widened."""
    return widened(tape, matrix) if isinstance(matrix, PackedMatrix) else matrix


def pack(tape: Tape, wide: Tensor | View, packed: PackedMatrix, first: int = 0) -> None:
    """Rows of `packed` from `first` on = those of `wide` (n, columns) in its precision."""
    n, columns = wide.shape
    if packed.scales is None:
        flat = packed.numbers.view(first * columns, (n * columns,))
        vector = View(view_of(wide).tensor, view_of(wide).offset, (wide.size,), 1)
        tape.emit("narrow_float16", vector, flat)
    else:
        numbers, scales = (tensor.rows(first, first + n) for tensor in (packed.numbers, packed.scales))
        tape.emit("narrow_int8", wide, numbers, scales)


@dataclass(frozen=True)
class Projection:
    """alpha * (x @ weight^T + an adapter's low-rank share) + bias.  weight: (out, in).

    `packed`: what is multiplied with instead of the weight itself, which then is not trained; a weight may also be kept
    packed itself.
    """

    weight: Parameter
    bias: Parameter | None = None
    adapter: LowRankPair | None = None
    packed: PackedMatrix | None = None
    alpha: float = 1.0

    @property
    def matrix(self) -> Matrix:
        return self.packed or self.weight.matrix

    def trained(self, tape: Tape) -> bool:
        """Whether any part of it is trained."""
        pair = (self.adapter.down, self.adapter.up) if self.adapter else ()
        return any(map(tape.trained, (self.weight, self.bias, *pair)))

    def forward(
        self, tape: Tape, x: Tensor | View, name: str, residual: Tensor | View | None = None, into: View | None = None
    ) -> Tensor:
        """The product, with `residual` (t, out) added where given; `into`: where it goes instead of a new tensor."""
        y = tape.new(name, (x.shape[0], self.weight.shape[0])) if into is None else into
        multiply(tape, x, self.matrix, y, residual, self.bias.tensor if self.bias else None, self.alpha)
        if self.adapter is not None:
            alpha = self.alpha * self.adapter.scale
            product(tape, "nt", self._low(tape, x), self.adapter.up.tensor, y, accumulate=True, alpha=alpha)
        return y

    def pass_gradient(self, tape: Tape, d_y: Tensor | View, x: Tensor) -> Tensor | None:
        """Emit d_x where x wants it; gives d_low (t, r), the gradient inside the adapter, where there is one."""
        if tape.wants(x):
            d_x, holds = tape.gradient_to_fill(x)
            product(tape, "nn", d_y, unpacked(tape, self.matrix), d_x, accumulate=holds, alpha=self.alpha)
        if self.adapter is None or not (tape.wants(x) or tape.trained(self.adapter.down)):
            return None
        d_low = tape.new("d_low_rank", (d_y.shape[0], self.adapter.down.shape[0]))
        product(tape, "nn", d_y, self.adapter.up.tensor, d_low, alpha=self.alpha * self.adapter.scale)
        if tape.wants(x):
            product(tape, "nn", d_low, self.adapter.down.tensor, tape.gradient(x), accumulate=True)
        return d_low

    def weight_gradients(self, tape: Tape, d_y: Tensor | View, d_low: Tensor | None, x: Tensor) -> None:
        """Emit the gradients of what is trained; x holds the input again, wherever it was kept."""
        d_view = d_y.view() if isinstance(d_y, Tensor) else d_y
        weight_gradient(tape, self.weight, d_view, x, self.alpha)
        if self.bias and (trained := tape.trained(self.bias)):
            sum_parts(tape, d_view, trained.gradient)
        if self.adapter is None:
            return
        weight_gradient(tape, self.adapter.down, d_low.view() if d_low else None, x)
        if tape.trained(self.adapter.up):
            # low = x @ down^T is cheap (r columns): made again instead of kept
            alpha = self.alpha * self.adapter.scale
            weight_gradient(tape, self.adapter.up, d_view, self._low(tape, x), alpha=alpha)

    def _low(self, tape: Tape, x: Tensor | View) -> Tensor:
        low = tape.new("low_rank", (x.shape[0], self.adapter.down.shape[0]))
        product(tape, "nt", x, self.adapter.down.tensor, low)
        return low
