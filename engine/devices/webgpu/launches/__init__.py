"""Launch functions of every kernel, by name: operands and numbers of a `KernelCall` in, dispatches out.  No wgpu here.

    elementwise   fill, gate, coefficients of the scan, casts    embedding    rows out of the table, gradients back
    normalise     the norm and its backward                      matmul       the three products, in several variants
    convolution   with SiLU, and its backward                    scan         the selective scan, in several variants
    loss          cross-entropy                                  optimiser    sums, clipping, AdamW
    attention     of a dense decoder, with rotation, cache, gated MLP
    decoding      a few tokens from a state on, fewer bits       operands     what all of them ask of a view

A function chooses shader, parameters and grid by shapes and by `AdapterTraits` (a software adapter, the fastest product
as it was measured), never by what ran before: the same call is always the same dispatches.
"""

from __future__ import annotations

from engine.devices.webgpu.launch import LaunchFunction
from engine.devices.webgpu.launches import (
    attention,
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
    **attention.LAUNCHES,
}
