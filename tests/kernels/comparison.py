"""What a kernel gives against its float64 definition, with a limit for each kernel."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from engine.devices import Device
from engine.devices.reference import reference
from engine.devices.samples import Sample, Sizes
from engine.devices.single_kernel import run_sample

# Relative to the largest value of an output: 3 to 10 times what was measured over all shapes here, on both devices.
LIMITS = {
    "fill": 0.0,
    "embedding_gather": 0.0,
    "embedding_gather_float16": 0.0,
    "embedding_gather_int8": 1e-7,
    "embedding_scatter": 1e-6,
    "embedding_store": 0.0,
    "gather_columns": 0.0,
    "rmsnorm": 1e-6,
    "rmsnorm_backward": 1e-6,
    "matmul_nt": 3e-6,
    "matmul_nn": 3e-6,
    "matmul_tn": 3e-6,
    "causal_conv_silu": 1e-6,
    "causal_conv_silu_backward": 3e-6,
    "scan_coefficients": 1e-6,
    "scan_coefficients_backward": 1e-6,
    "selective_scan": 1e-5,
    "selective_scan_backward": 1.5e-5,
    "ssd_steps": 1e-6,
    "ssd_steps_backward": 2e-6,
    "ssd": 5e-6,
    "ssd_backward": 1e-5,
    "ssd_tokens": 3e-6,
    "gate": 1e-6,
    "gate_backward": 1e-6,
    "cross_entropy": 2e-6,
    "sum_rows": 1e-6,
    "total": 1e-6,
    "squared_norm": 1e-6,
    "clip_factor": 1e-6,
    "adamw": 1e-6,
    "update_squares": 3e-6,
    "column_squares": 1e-6,
    "dead_channels": 0.0,
    "widen_float16": 0.0,
    "widen_bfloat16": 0.0,
    "narrow_float16": 0.0,
    "narrow_bfloat16": 0.0,
    "carry_history": 0.0,
    "carry_state": 0.0,
    "causal_conv_silu_tokens": 1e-6,
    "selective_scan_tokens": 1e-5,
    "matmul_nt_float16": 3e-6,
    "matmul_nt_int8": 3e-6,
    "narrow_int8": 3e-7,
    "widen_int8": 1e-7,
    "scale": 0.0,
    "rope": 5e-7,
    "attention": 2e-6,
    "attention_deltas": 2e-6,
    "attention_backward_queries": 5e-6,
    "attention_backward_keys": 1e-5,
    "cache_append": 0.0,
    "attention_cached": 2e-6,
    "swiglu": 1e-6,
    "swiglu_backward": 3e-6,
    "route": 6e-7,
    "route_backward": 1e-5,
    "routing_sums": 6e-7,
    "balance": 6e-7,
    "group_rows": 0.0,
    "grouped_nt": 3e-6,
    "grouped_nn": 3e-6,
    "grouped_tn": 3e-6,
    "routed_swiglu": 1e-6,
    "routed_swiglu_backward": 3e-6,
    "combine": 5e-7,
    "expert_rows_nt": 1e-6,
    "expert_rows_nt_float16": 1e-6,
    "expert_rows_nt_int8": 1e-6,
    "norm_matmul_nt": 3e-6,
    "norm_matmul_nt_float16": 3e-6,
    "norm_matmul_nt_int8": 3e-6,
    "norm_matmul_conv": 3e-6,
    "norm_matmul_conv_float16": 3e-6,
    "norm_matmul_conv_int8": 3e-6,
    "norm_gated": 3e-6,
    "norm_gated_float16": 3e-6,
    "norm_gated_int8": 3e-6,
    "scan_gated": 1e-5,
    "ssd_gated": 3e-6,
    "kept_keys": 0.0,
    "argmax": 0.0,
    "top_k": 1e-6,
    "penalise_recent": 6e-7,
    "choose_token": 0.0,
}

# One and two of everything, and one below, at and above a multiple of what the kernels work in (16, 32, 64).
ODD_SIZES = (
    Sizes(b=1, l=1, m=1, d=1, n=1, r=1, k=1, v=1),
    Sizes(b=3, l=2, m=31, d=31, n=5, r=2, k=2, v=2),
    Sizes(b=1, l=63, m=65, d=33, n=8, r=1, k=3, v=63),
    Sizes(b=3, l=64, m=64, d=64, n=16, r=4, k=4, v=300),
    Sizes(b=1, l=65, m=100, d=100, n=16, r=7, k=4, v=65),
    Sizes(b=3, l=129, m=63, d=65, n=1, r=3, k=3, v=33),
    Sizes(b=1, l=129, m=257, d=1, n=16, r=1, k=4, v=257),
)


def size_name(sizes: Sizes) -> str:
    """A test's name for its sizes."""
    return "-".join(f"{letter}{size}" for letter, size in vars(sizes).items())


def with_operands(sample: Sample, **operands: np.ndarray | None) -> Sample:
    """The sample with other operands; None for one that is absent."""
    return replace(sample, operands={**sample.operands, **operands})


def check(device: Device, sample: Sample, at_least: float = 0.0) -> dict[str, np.ndarray]:
    """Run the sample on the device and compare all that it writes with float64; gives what the device wrote.

    `at_least`: the size of what is added up, where the sum itself may be near zero.
    """
    found = run_sample(device, sample)
    compare(sample, found, reference(sample), at_least)
    return found


def compare(
    sample: Sample, found: dict[str, np.ndarray], expected: dict[str, np.ndarray], at_least: float = 0.0
) -> None:
    """Assert that every output has its shape and is within the kernel's limit."""
    assert found.keys() == expected.keys()
    limit = LIMITS[sample.kernel]
    for name in expected:
        assert found[name].shape == expected[name].shape, name
        for part, f, e in _parts(name, found[name], expected[name]):
            difference = np.abs(f.astype(np.float64) - e).max(initial=0)
            largest = max(np.abs(e).max(initial=0), at_least)
            assert difference <= limit * largest, f"{part} is off by {difference:.1e}, the largest is {largest:.1e}"


def _parts(name: str, found: np.ndarray, expected: np.ndarray) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """The output in parts that may differ in size, so that a large one does not hide a small one."""
    if name in ("coefficients", "d_coefficients"):
        cuts = {"A": slice(None, -2), "D": slice(-2, -1), "dt_bias": slice(-1, None)}
        for part, rows in cuts.items():
            yield f"{name} of {part}", found[..., rows, :], expected[..., rows, :]
    elif name == "statistics":
        for slot in range(len(expected)):
            yield f"{name}[{slot}]", found[slot : slot + 1], expected[slot : slot + 1]
    else:
        yield name, found, expected
