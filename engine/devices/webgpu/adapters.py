"""Which WebGPU adapters there are and what they are.  Asks wgpu, opens nothing."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import wgpu

SOFTWARE_NAMES = ("llvmpipe", "lavapipe", "swiftshader", "basic render driver", "warp")
KINDS = {"DiscreteGPU": "discrete", "IntegratedGPU": "integrated", "CPU": "software"}

# The limits that every WebGPU implementation guarantees; kernels stay within them and tests request exactly them.
PORTABLE_LIMITS = {
    "max-storage-buffers-per-shader-stage": 8,
    "max-compute-invocations-per-workgroup": 256,
    "max-compute-workgroup-size-x": 256,
    "max-compute-workgroup-size-y": 256,
    "max-compute-workgroup-size-z": 64,
    "max-compute-workgroup-storage-size": 16_384,
    "max-compute-workgroups-per-dimension": 65_535,
    "max-storage-buffer-binding-size": 128 * 2**20,
    "max-buffer-size": 256 * 2**20,
    "max-uniform-buffer-binding-size": 65_536,
}
# Of these only timestamps are asked for (`stopwatch`). No kernel would gain from the others: all sums are float32, and
# halves are unpacked by unpack2x16float, which every adapter has; the sums across a workgroup that subgroups shorten
# are, on paper, less than a hundredth of a training step.
FEATURES_THAT_MATTER = ("shader-f16", "subgroup", "timestamp-query")


@dataclass(frozen=True)
class Adapter:
    """An adapter and wgpu's own handle on it."""

    handle: object
    description: str
    backend: str
    kind: str
    driver: str
    limits: dict[str, int]
    features: tuple[str, ...]

    @property
    def software(self) -> bool:
        return self.kind == "software"


@functools.cache
def list_adapters() -> tuple[Adapter, ...]:
    """Every adapter, in wgpu's order, once per backend; none where there is no driver."""
    with _quiet():
        handles = wgpu.gpu.enumerate_adapters_sync()
    return tuple(_describe(handle) for handle in handles)


def _describe(handle) -> Adapter:
    info = handle.info
    name = info["device"]
    software = info["adapter_type"] == "CPU" or any(word in name.lower() for word in SOFTWARE_NAMES)
    return Adapter(
        handle=handle,
        description=name,
        backend=info["backend_type"],
        kind="software" if software else KINDS.get(info["adapter_type"], "unknown"),
        driver=info["description"],
        limits={key: int(handle.limits[key]) for key in PORTABLE_LIMITS},
        features=tuple(name for name in FEATURES_THAT_MATTER if name in handle.features),
    )


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Discard what drivers write directly to file descriptor 2 while adapters are listed: it is not for users."""
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
            yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
