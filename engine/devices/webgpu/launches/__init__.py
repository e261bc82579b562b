"""Launch functions of every kernel, by name: a KernelCall in, dispatches out.  No wgpu here."""

from __future__ import annotations

from engine.devices.webgpu.launch import LaunchFunction
from engine.devices.webgpu.launches import (
    convolution,
    decoding,
    elementwise,
    embedding,
    loss,
    matmul,
    normalise,
    optimiser,
    scan,
)

LAUNCHES: dict[str, LaunchFunction] = {
    **elementwise.LAUNCHES,
    **embedding.LAUNCHES,
    **normalise.LAUNCHES,
    **matmul.LAUNCHES,
    **convolution.LAUNCHES,
    **scan.LAUNCHES,
    **loss.LAUNCHES,
    **optimiser.LAUNCHES,
    **decoding.LAUNCHES,
}
