"""What a kernel call has to do at least: operations and bytes, from its shapes.

Bytes follow from the access in the table of kernels: an operand that is read or written is moved once, one that is both
twice. Operations are stated only for kernels that may be limited by them; a kernel that is in none of the tables here
is judged by its bytes alone.
"""

from __future__ import annotations

from collections.abc import Callable

from engine.graph.fused_kernels import FUSED, parts
from engine.graph.kernels import KERNELS, STATE_INTERVAL
from engine.graph.tensor import DTYPE_BYTES, KernelCall, View

# Operands of which only as much is touched as another one has elements.
TOUCHED = {
    "embedding_gather": {"table": "y"},
    "embedding_gather_float16": {"table": "y"},
    "embedding_gather_int8": {"words": "y", "scales": "y"},
    "embedding_scatter": {"d_table": "d_y"},
    "embedding_store": {"table": "x"},
    "cache_append": {"cache": "x"},
}
CACHED = {"attention_cached": ("k", "v")}  # operands with room for more keys than there are

Views = dict[str, View]


def _scan(operations: int) -> Callable[[Views, float], float]:
    """So many for each channel of the state of each token."""
    return lambda views, keys: operations * views["u"].size * (views["coefficients"].shape[0] - 2)


def _attention(operations: int) -> Callable[[Views, float], float]:
    """So many for each channel of each query and each key that it sees."""
    return lambda views, keys: operations * views["q"].size * keys


def _ssd(mixed: int, stated: int, scored: int) -> Callable[[Views, float], float]:
    """Its products of chunks: of a token with those of its chunk and with the state, for each channel; of B and C."""

    def count(views: Views, keys: float) -> float:
        heads, (states, e) = views["steps"].shape[1] // 2, views["states"].shape[2:]
        inner, n = heads * e, states // heads
        of_groups = (views["x"].shape[1] - inner) // 2
        of_a_token = inner * (mixed * STATE_INTERVAL + stated * n) + scored * STATE_INTERVAL * of_groups
        return 2 * views["x"].shape[0] * of_a_token

    return count


OPERATIONS: dict[str, Callable[[Views, float], float]] = {
    "selective_scan": _scan(8),
    "selective_scan_tokens": _scan(8),
    "selective_scan_backward": _scan(20),
    "ssd": _ssd(mixed=1, stated=2, scored=1),
    "ssd_backward": _ssd(mixed=3, stated=5, scored=3),
    "causal_conv_silu": lambda views, keys: 2 * views["weight"].shape[1] * views["y"].size,
    "causal_conv_silu_tokens": lambda views, keys: 2 * views["weight"].shape[1] * views["y"].size,
    "causal_conv_silu_backward": lambda views, keys: 6 * views["weight"].shape[1] * views["d_y"].size,
    "attention": _attention(4),
    "attention_cached": _attention(4),
    "attention_backward_queries": _attention(6),
    "attention_backward_keys": _attention(8),
}


def operations(call: KernelCall, keys: float = 0.0) -> float:
    """Multiplications and additions; 0 for a kernel that only moves numbers.

    `keys`: how many each query of an attention sees on average.
    """
    if call.kernel in FUSED:
        return sum(operations(part, keys) for part in parts(call))
    count = OPERATIONS.get(call.kernel)
    return product_operations(call) if count is None else count(named_views(call), keys)


def product_operations(call: KernelCall) -> int:
    """Those of a matrix product; 0 for another kernel."""
    if not call.kernel.startswith("matmul"):
        return 0
    a, _, c = call.operands[:3]
    return 2 * c.size * (a.shape[0] if call.kernel == "matmul_tn" else a.shape[1])


def moved_bytes(call: KernelCall, keys: float = 0.0) -> float:
    """Bytes that are read and written if every cache is perfect."""
    views, total = named_views(call), 0.0
    for operand in KERNELS[call.kernel].operands:
        view = views.get(operand.name)
        if view is None:
            continue
        size: float = view.size
        if other := TOUCHED.get(call.kernel, {}).get(operand.name):
            size = min(size, views[other].size)
        if operand.name in CACHED.get(call.kernel, ()) and keys:
            size = min(size, keys * view.shape[-1])
        total += size * DTYPE_BYTES[operand.dtype] * (2 if operand.access == "x" and not _is_overwritten(call) else 1)
    return total


def _is_overwritten(call: KernelCall) -> bool:
    """Whether what may also be added to is only written by this call."""
    return call.numbers.get("accumulate") == 0


def named_views(call: KernelCall) -> Views:
    """The operands that there are, by name."""
    names = (operand.name for operand in KERNELS[call.kernel].operands)
    return {name: view for name, view in zip(names, call.operands, strict=True) if view is not None}


def shape_words(call: KernelCall) -> str:
    """The size of a call in short: rows × columns × sums of a product, else of its first matrix."""
    views = named_views(call)
    if operations_of_product := product_operations(call):
        rows, columns = views["c"].shape
        sides = (rows, columns, operations_of_product // max(2 * rows * columns, 1))
    else:
        shapes = [view.shape for view in views.values()]
        sides = next((shape for shape in shapes if len(shape) > 1), shapes[0])
    return "×".join(map(str, sides))
