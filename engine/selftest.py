"""Every kernel of a device against the CPU device, on small inputs of odd sizes.

Some drivers report success and write zeros, and a model trained on one silently learns garbage. So an adapter is
checked before the first training on it, and rejected with the name of the kernel that failed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np

from engine.devices import Device, open_device
from engine.devices.reference import reference
from engine.devices.samples import Sample, Sizes, make_sample
from engine.devices.single_kernel import run_sample
from engine.errors import CodecoilError, KernelMismatchError
from engine.graph.kernels import KERNELS

# Largest error, relative to the largest value of an output: 3 to 10 times what was measured between the CPU device,
# llvmpipe and float64.  More where a sum may cancel or errors travel along the scan; a cast may not differ at all.  The
# usual limit leaves room for WGSL's exp, which may be off by 1e-6.
DEFAULT_LIMIT = 3e-6
LIMITS = {
    "fill": 0.0,
    "embedding_gather": 0.0,
    "embedding_gather_float16": 0.0,
    "embedding_gather_int8": 1e-7,
    "embedding_scatter": 5e-7,
    "embedding_store": 0.0,
    "gather_columns": 0.0,
    "scan_coefficients_backward": 5e-7,
    "selective_scan": 1e-5,
    "selective_scan_backward": 1.5e-5,
    "ssd": 1e-5,
    "ssd_backward": 1.5e-5,
    "sum_rows": 5e-7,
    "total": 3e-5,
    "squared_norm": 1e-6,
    "clip_factor": 3e-7,
    "adamw": 5e-7,
    "dead_channels": 0.0,
    "widen_float16": 0.0,
    "widen_bfloat16": 0.0,
    "narrow_float16": 0.0,
    "narrow_bfloat16": 0.0,
    "carry_history": 0.0,
    "carry_state": 0.0,
    "selective_scan_tokens": 1e-5,
    "narrow_int8": 5e-7,
    "cache_append": 0.0,
    "group_rows": 0.0,
    "route_backward": 2e-5,
    "scan_gated": 1e-5,
    "kept_keys": 0.0,
    "argmax": 0.0,
    "choose_token": 0.0,
}
Expect = Callable[[Sample], dict[str, np.ndarray]]
CHECKED_SIZES = (Sizes(), Sizes(b=3, l=5, m=64, d=128, n=8, r=2, k=3, v=257))


@dataclass(frozen=True)
class KernelCheck:
    """How far a kernel is off.  `error` is relative to the largest value; NaN where it gave none or failed to run."""

    kernel: str
    error: float
    limit: float
    passed: bool
    milliseconds: float
    problem: str = ""


def run(device: str | Device, report: Callable[[KernelCheck], None] = lambda check: None) -> list[KernelCheck]:
    """Check every kernel of a device, given by name or open; `report` is called after each."""
    opened = [open_device(device)] if isinstance(device, str) else []
    checked = opened[0] if opened else device
    try:
        expect = reference  # a device compared with itself would always pass
        if checked.name != "cpu":
            opened.append(open_device("cpu"))
            expect = partial(run_sample, opened[-1])
        checks = []
        for kernel in KERNELS:
            checks.append(_check(kernel, checked, expect))
            report(checks[-1])
        return checks
    finally:
        for each in opened:
            each.close()


def require(device: Device, report: Callable[[KernelCheck], None] = lambda check: None) -> None:
    """Raise, naming the kernel, if the device gives wrong numbers; `report` is called after each and may raise."""
    for check in run(device, report):
        if not check.passed:
            raise KernelMismatchError(
                check.kernel,
                f"{device.description} gives wrong numbers: "
                f"kernel {check.kernel} is off by {check.error:.1e} (limit {check.limit:.0e}). {check.problem}",
                "Update the graphics driver, or use the device 'cpu'.",
            )


def _check(kernel: str, device: Device, expect: Expect) -> KernelCheck:
    limit = LIMITS.get(kernel, DEFAULT_LIMIT)
    began = time.perf_counter()
    try:
        error = _worst(_difference(make_sample(kernel, sizes), device, expect) for sizes in CHECKED_SIZES)
        problem = ""
    except CodecoilError as failure:
        error, problem = float("nan"), str(failure)
    return KernelCheck(kernel, error, limit, error <= limit, (time.perf_counter() - began) * 1e3, problem)


def _difference(sample: Sample, device: Device, expect: Expect) -> float:
    found, expected = run_sample(device, sample), expect(sample)
    return _worst(relative_error(found[name], expected[name]) for name in expected)


def _worst(errors: Iterable[float]) -> float:
    """The largest; NaN where one is NaN (which Python's own max may skip)."""
    return float(np.max(list(errors)))


def relative_error(found: np.ndarray, expected: np.ndarray) -> float:
    """Largest difference over the largest expected value; NaN where anything found is not a number."""
    if expected.size == 0:
        return 0.0
    difference = np.abs(found.astype(np.float64) - expected.astype(np.float64)).max()
    return float(difference / max(np.abs(expected.astype(np.float64)).max(), 1e-30)) if difference else 0.0
