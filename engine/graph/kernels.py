"""The kernels: one table of names, operands and numbers that both devices implement.

This is the contract. `cpu/` has a function of each name that takes NumPy arrays in this order, `webgpu/` a launch of
each name that binds buffers in this order, `shaders/` a `.wgsl` file of the same stem, `tests/kernels/` a test
against float64.

Letters: b batch, l length, t = b*l tokens, m model width, d inner width, n state size, k convolution taps, r rank of
delta, v vocabulary, p parts of a sum, f width of a gated MLP, h heads, e channels of a head, g groups of heads. `reach`
(t, 3) says of each token its position, the first key that it sees and the one past the last. Access: `r` read, `w`
written whole, `x` read and written (also: written in part). `?` marks an operand that may be absent, `s` one whose rows
may lie apart (part of a wider matrix; any operand of a product may). Nothing is added up in an order that depends on
timing: partial sums go to their own rows and are summed in order.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.graph.fused_kernels import ROWS as FUSED_ROWS
from engine.graph.mixture_kernels import ROWS as MIXTURE_ROWS


@dataclass(frozen=True)
class Operand:
    name: str
    access: str
    rank: int
    optional: bool = False
    dtype: str = "float32"
    strided: bool = False

    @property
    def writes(self) -> bool:
        return self.access in "wx"


@dataclass(frozen=True)
class Kernel:
    name: str
    operands: tuple[Operand, ...]
    numbers: tuple[str, ...]
    meaning: str


DTYPES = {"i": "int32", "h": "float16", "b": "bfloat16"}


def _kernel(name: str, operands: str, numbers: str, meaning: str) -> Kernel:
    """`operands` reads "ids:r1i table:r2 y:w2 bias:r1?":

    name, access, rank, i int32, h float16, b bfloat16, s strided, ? optional.
    """
    parsed = []
    for word in operands.split():
        label, spec = word.split(":")
        dtype = next((DTYPES[letter] for letter in spec[2:] if letter in DTYPES), "float32")
        parsed.append(Operand(label, spec[0], int(spec[1]), spec.endswith("?"), dtype, "s" in spec[2:]))
    return Kernel(name, tuple(parsed), tuple(numbers.split()), meaning)


KERNELS: dict[str, Kernel] = {
    kernel.name: kernel
    for kernel in (
        _kernel("fill", "x:w1", "value", "x = value"),
        _kernel(
            "embedding_gather",
            "ids:r1i table:r2 y:x2",
            "first_row",
            "y[i] = table[ids[i] - first_row] where that row is in this block of the table; other rows of y stay",
        ),
        _kernel("embedding_gather_float16", "ids:r1i table:r2h y:x2", "first_row", "embedding_gather from float16"),
        _kernel(
            "embedding_gather_int8",
            "ids:r1i words:r2i scales:r2 y:x2",
            "first_row",
            "embedding_gather from 8 bits: words and scales as narrow_int8 leaves them",
        ),
        _kernel(
            "embedding_scatter",
            "ids:r1i order:r1i d_y:r2 d_table:x2",
            "first_row",
            "d_table[ids[i] - first_row] += d_y[i], equal ids in order of position; order = stable argsort of ids",
        ),
        _kernel(
            "embedding_store",
            "ids:r1i x:r2 table:x2",
            "first_row",
            "table[ids[i] - first_row] = x[i] where that row is in this block of the table; no id comes twice",
        ),
        _kernel("gather_columns", "ids:r1i x:r2 y:w2", "", "y (i, j) = x (i, ids[j])"),
        _kernel(
            "rmsnorm",
            "x:r2 scale:r1 y:w2 inverse_rms:w1",
            "epsilon",
            "y = scale * x * inverse_rms, per row; scale (g*m) may be g rows, of which row i of x takes number i mod g",
        ),
        _kernel(
            "rmsnorm_backward",
            "d_y:r2 x:r2 scale:r1 inverse_rms:r1 d_x:x2 d_scale:w2?",
            "accumulate",
            "d_x (+)= gradient of the norm; d_scale (p, g*m): sums over p blocks of ceil(t/p) rows each",
        ),
        *(
            _kernel(
                f"matmul_{layout}",
                "a:r2 b:r2 c:x2 addend:r2? bias:r1?",
                "alpha accumulate",
                f"c = alpha * {formula} + addend + bias (+ c where accumulate)",
            )
            for layout, formula in (
                ("nt", "a (i,k) @ b (j,k)^T"),
                ("nn", "a (i,k) @ b (k,j)"),
                ("tn", "a (k,i)^T @ b (k,j)"),
            )
        ),
        _kernel(
            "causal_conv_silu",
            "x:r2s weight:r2 bias:r1? history:r3? y:w2",
            "length",
            "y = silu(bias + sum_j weight[:, j] * x[t-k+1+j]); before the start: zero, or history (b, k-1, d)",
        ),
        _kernel(
            "causal_conv_silu_backward",
            "d_y:r2 x:r2s weight:r2 bias:r1? d_x:x2s? d_weight:w3? d_bias:w2?",
            "length",
            "d_x; d_weight (b, d, k) and d_bias (b, d): sums over the tokens of each sequence",
        ),
        _kernel(
            "scan_coefficients",
            "A_log:r2 D:r1 dt_bias:r1 coefficients:w2",
            "",
            "coefficients (n+2, d): rows 0..n-1 = -exp(A_log)^T, row n = D, row n+1 = dt_bias",
        ),
        _kernel(
            "scan_coefficients_backward",
            "d_coefficients:r3 coefficients:r2 d_A_log:x2 d_D:x1 d_dt_bias:x1",
            "accumulate",
            "sums the b partial sums (b, n+2, d) of the scan into the gradients of A_log, D and the bias of delta",
        ),
        _kernel(
            "selective_scan",
            "u:r2 delta:r2 x_dbl:r2 coefficients:r2 states:x4 y:w2 workspace:x1?",
            "length rank carry",
            "y of the scan with Delta = softplus(delta + dt_bias), skip D*u included; states (b, ceil(l/64)+1, n, d): "
            "the state before each 64 tokens and, last, the final one; slot 0 is read where carry, else set to zero",
        ),
        _kernel(
            "selective_scan_backward",
            "u:r2 delta:x2 x_dbl:r2 coefficients:r2 states:x4 d_y:x2 partials:w1 workspace:x1?",
            "length rank want_inputs want_coefficients",
            "in place: d_y becomes d_u and delta becomes d_delta (before the bias) where want_inputs; partials = "
            "(blocks, t, 2n) sums of d_B|d_C over each block of channels (device.scan_channel_block wide), then "
            "(b, n+2, d) sums of d_A, d_D, d_dt_bias over each sequence where want_coefficients; states are used up",
        ),
        _kernel(
            "ssd_steps",
            "dt:r2s coefficients:r2 steps:w2",
            "lowest highest",
            "steps (t, 2h) of Mamba-2's h heads: Delta = softplus(dt + dt_bias) held between lowest and highest, then "
            "Delta * A; coefficients (3, h) = A, D, dt_bias, as scan_coefficients makes them of one state",
        ),
        _kernel(
            "ssd_steps_backward",
            "d_steps:r2 steps:r2 dt:r2s coefficients:r2 d_dt:x2s? d_coefficients:w3?",
            "lowest highest",
            "from d_steps (t, 3h), as ssd_backward leaves it: d_dt (t, h), 0 where Delta was held; d_coefficients "
            "(p, 3, h) = d_A, d_D, d_dt_bias, sums over p blocks of ceil(t/p) rows each",
        ),
        _kernel(
            "ssd",
            "x:r2 steps:r2 coefficients:r2 states:x4 y:w2",
            "length carry",
            "Mamba-2's scan: x (t, h*e + 2gn) = channels of h heads, B and C of g groups; y (t, h*e), skip D*x "
            "included; states (b, ceil(l/64)+1, h*n, e): the state before each 64 tokens and, last, the final one; "
            "slot 0 is read where carry, else set to zero",
        ),
        _kernel(
            "ssd_backward",
            "x:r2 steps:r2 coefficients:r2 states:x4 d_y:r2 d_x:w2 d_steps:w2",
            "length",
            "d_x, with d_B and d_C summed over the heads of a group; d_steps (t, 3h): gradients of Delta where it "
            "stands alone, of Delta * A, and of D, token by token; states are used up",
        ),
        _kernel("gate", "y:r2 z:r2s g:w2", "", "g = y * silu(z)"),
        _kernel(
            "gate_backward",
            "d_g:x2 y:x2 z:r2s d_z:x2s?",
            "",
            "in place: d_g becomes d_y, y becomes g again (the product that the next gradient needs)",
        ),
        _kernel(
            "cross_entropy",
            "logits:x2 targets:r1i losses:w1 scalars:r1",
            "want_gradient",
            "losses per row (0 where the target is negative); where want_gradient, logits become "
            "(softmax - onehot) * scalars[0]",
        ),
        _kernel(
            "sum_rows",
            "x:r2 y:x2s",
            "columns accumulate",
            "y (i, j) (+)= sum over p of x (p, i*j), y having `columns` columns",
        ),
        _kernel("total", "x:r1 y:x1", "", "y[0] = sum of x, in a fixed order"),
        _kernel(
            "squared_norm", "x:r1 partials:x1", "", "partials[i] = sum of squares of the i-th of its equal parts of x"
        ),
        _kernel(
            "clip_factor",
            "partials:r1 scalars:r1 statistics:x1",
            "",
            "statistics[1] = gradient norm, statistics[2] = min(1, max_norm / norm), or 0 where the norm or the loss "
            "is not finite",
        ),
        _kernel(
            "adamw",
            "parameter:x1 gradient:r1 first:x1 second:x1 scalars:r1 statistics:r1",
            "decay",
            "one AdamW step with decoupled decay on gradient * statistics[2]; nothing changes where that factor is 0",
        ),
        _kernel(
            "update_squares",
            "parameter:r1 gradient:r1 first:r1 second:r1 scalars:r1 statistics:r1 partials:w2",
            "decay",
            "partials (p, 3): sums of squares, over each of p equal parts, of the gradient, of the parameter and of "
            "the change that adamw is about to make",
        ),
        _kernel(
            "column_squares",
            "x:r2 partials:w2",
            "",
            "partials (p, d): sums of squares of each column of x over p blocks of ceil(t/p) rows each",
        ),
        _kernel(
            "dead_channels",
            "outputs:r1 gradients:r1 count:x1",
            "share",
            "count[0] = number of channels whose square in outputs, or in gradients, is at most share^2 times the mean "
            "of all channels there",
        ),
        _kernel("widen_float16", "x:r1h y:w1", "", "y = x as float32"),
        _kernel("widen_bfloat16", "x:r1b y:w1", "", "y = x as float32"),
        _kernel("narrow_float16", "x:r1 y:w1h", "", "y = x as float16, to the nearest, ties to even"),
        _kernel("narrow_bfloat16", "x:r1 y:w1b", "", "y = x as bfloat16, to the nearest, ties to even"),
        _kernel(
            "carry_history",
            "x:r2s history:x2",
            "",
            "history (k-1, d) = the last k-1 rows of history followed by x",
        ),
        _kernel(
            "carry_state",
            "kept:r3 state:w2",
            "",
            "state (n, d) = the last of kept",
        ),
        _kernel(
            "causal_conv_silu_tokens",
            "x:r2s weight:r2 bias:r1? history:x2? y:w2",
            "",
            "causal_conv_silu on at most 8 tokens of one sequence; history (k-1, d) moves on behind them",
        ),
        _kernel(
            "selective_scan_tokens",
            "u:r2 delta:r2 x_dbl:r2 coefficients:r2 state:x2 y:w2",
            "rank",
            "selective_scan on at most 8 tokens from state (n, d), which moves on behind them",
        ),
        _kernel(
            "ssd_tokens",
            "x:r2 dt:r2s coefficients:r2 state:x2 y:w2",
            "lowest highest",
            "ssd_steps and ssd on at most 8 tokens of one sequence from state (h*n, e), which moves on behind them",
        ),
        _kernel(
            "matmul_nt_float16",
            "a:r2 b:r2h c:x2 addend:r2? bias:r1?",
            "alpha accumulate",
            "matmul_nt for at most 8 rows of a and b in float16",
        ),
        _kernel(
            "matmul_nt_int8",
            "a:r2 b:r2i c:x2 addend:r2? bias:r1? scales:r2",
            "alpha accumulate",
            "matmul_nt for at most 8 rows of a and b in 8 bits: words and scales as narrow_int8 leaves them",
        ),
        _kernel(
            "narrow_int8",
            "x:r2 words:w2i scales:w2",
            "",
            "rows of x in 8 bits: scales (j, s) = largest of each 32 / 127, words (j, 8s) = four x / scale each, to "
            "the nearest, ties to even, lowest byte first, 0 past the end of a row",
        ),
        _kernel("widen_int8", "words:r2i scales:r2 y:w2", "", "y = what narrow_int8 has left of x"),
        _kernel("scale", "x:x2s", "rows columns factor", "x (rows, columns) *= factor"),
        _kernel(
            "rope",
            "x:x2 reach:r2i rotations:r2",
            "head_dim sign",
            "in place: the halves of each head of x (t, heads * head_dim) rotated by the angles whose cosines and "
            "sines are row reach[i, 0] of rotations (positions, head_dim); sign -1 turns back",
        ),
        _kernel(
            "attention",
            "q:r2 k:r2 v:r2 reach:r2i y:w2 sums:x2",
            "head_dim scale",
            "y (t, heads * head_dim) = softmax(scale * q k^T) v, head by head; query i sees the keys reach[i, 1] to "
            "reach[i, 2] - 1, and heads / groups query heads share one of k, v (t, groups * head_dim); sums "
            "(t, 2 heads): the first half = the logarithm of the sum of the exponentials",
        ),
        _kernel(
            "attention_deltas",
            "d_y:r2 y:r2 sums:x2",
            "head_dim",
            "the second half of sums (t, 2 heads) = d_y . y, head by head",
        ),
        _kernel(
            "attention_backward_queries",
            "d_y:r2 q:r2 k:r2 v:r2 reach:r2i sums:r2 d_q:w2",
            "head_dim scale",
            "d_q of attention, from sums as attention and attention_deltas leave them",
        ),
        _kernel(
            "attention_backward_keys",
            "d_y:r2 q:r2 k:r2 v:r2 reach:r2i sums:r2 d_k:w2 d_v:w2",
            "head_dim scale length",
            "d_k and d_v of attention, each summed over the query heads that share it; in sequences of `length` tokens "
            "no query sees a later key",
        ),
        _kernel(
            "cache_append",
            "x:r2 reach:r2i cache:x2h",
            "",
            "cache[reach[i, 2] - 1] = x[i] as float16, to the nearest, ties to even",
        ),
        _kernel(
            "attention_cached",
            "q:r2 k:r2h v:r2h reach:r2i y:w2",
            "head_dim scale",
            "y of attention against keys and values in float16",
        ),
        _kernel("swiglu", "x:r2 g:w2", "", "g (t, f) = silu(x[:, :f]) * x[:, f:]"),
        _kernel(
            "swiglu_backward",
            "d_g:r2 x:x2 g:w2",
            "",
            "in place: x (t, 2f) becomes d_x; g is computed again (the next gradient needs it)",
        ),
        _kernel("argmax", "logits:r2 best:w1i", "", "best[i] = the lowest index of the largest in row i"),
        _kernel(
            "top_k",
            "logits:r2 best:w2",
            "",
            "best (t, 1 + 2k): the logarithm of the sum of the exponentials of a row, its k largest in falling order "
            "(equal ones by index) and their indices, 0 and -1 past the end of a short row",
        ),
        _kernel(
            "penalise_recent",
            "logits:x2 recent:r1i chosen:r2i? settings:r1",
            "",
            "in place: logits (1, v) of each token of recent (w,) and of the first column of chosen (n, 2), once, "
            "divided by settings[4], or times it where it is below zero; -1 is no token",
        ),
        _kernel(
            "choose_token",
            "logits:r2 best:r2 settings:r1 chances:r1 chosen:w2i",
            "",
            "chosen (1, 2) = a token drawn by chances[0] from logits (1, v) after temperature, top-k, top-p and min-p "
            "(settings, in this order), and 1; or the best one and 0 where more tokens are left than `best` has, which "
            "is as top_k leaves it",
        ),
        *(_kernel(*row) for row in (*MIXTURE_ROWS, *FUSED_ROWS)),
    )
}

STATE_INTERVAL = 64  # tokens between two kept states of the scan
NORM_PARTS = 256  # partial sums of a squared norm
FEW_TOKENS = 8  # tokens that the kernels of decoding take at a time
SCALE_BLOCK = 32  # weights that share a scale in 8 bits
TOP = 64  # most that `top_k` finds


class Scalars:
    """Slots of the float32 vector that the host rewrites before a step: what changes without a new plan."""

    GRADIENT_SCALE = 0  # one over the number of targets that count
    LEARNING_RATE = 1
    BETA1 = 2
    BETA2 = 3
    EPSILON = 4
    WEIGHT_DECAY = 5
    CORRECTION1 = 6  # 1 - beta1^step
    CORRECTION2 = 7  # 1 - beta2^step
    MAX_NORM = 8  # 0: no clipping
    TRUST = 9  # largest change of one weight in one step; 0: no limit
    COUNT = 16


class Statistics:
    """Slots of the float32 vector that a step leaves for the host: 64 bytes, the only thing read back."""

    LOSS_SUM = 0
    GRADIENT_NORM = 1
    CLIP_FACTOR = 2
    COUNT = 16


class LayerStatistics:
    """Slots that a step with insight leaves for each layer, layer after layer, behind those of `Statistics`."""

    SQUARES = 0  # three: of the gradient, of the trained weights, of their change
    DEAD = 3
    COUNT = 4  # behind them, in a mixture of experts: how many tokens chose each expert
