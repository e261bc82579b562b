"""Launch functions of every kernel, by name: operands and numbers of a `KernelCall` in, dispatches out.  No wgpu here.

    elementwise   fill, gate, coefficients of the scan, casts    rows         embedding, norm, loss
    convolution   with SiLU, and its backward                    matmul       the three products, in several variants
    scan          the selective scan, in several variants        optimiser    sums, clipping, AdamW
    ssd           Mamba-2's scan
    attention     of a dense decoder, with rotation, cache, gated MLP
    decoding      a few tokens from a state, in fewer bits
    mixture       routing, and the products of experts    fused    kernels of a token that do the work of several

A function chooses shader, parameters and grid by shapes and by `AdapterTraits` (a software adapter, what was fastest
when it was measured), never by what ran before: the same call always gives the same dispatches.
"""

from __future__ import annotations

from engine.devices.webgpu.launch import AdapterTraits, Launch, LaunchFunction, ScratchFunction
from engine.devices.webgpu.launches import (
    attention,
    convolution,
    decoding,
    elementwise,
    fused,
    matmul,
    mixture,
    optimiser,
    rows,
    scan,
    ssd,
)
from engine.graph.plan import Plan
from engine.graph.tensor import KernelCall

LAUNCHES: dict[str, LaunchFunction] = {
    **elementwise.LAUNCHES,
    **rows.LAUNCHES,
    **matmul.LAUNCHES,
    **convolution.LAUNCHES,
    **scan.LAUNCHES,
    **optimiser.LAUNCHES,
    **decoding.LAUNCHES,
    **attention.LAUNCHES,
    **ssd.LAUNCHES,
    **mixture.LAUNCHES,
    **fused.LAUNCHES,
}
SCRATCH: dict[str, ScratchFunction] = {**matmul.SCRATCH, **convolution.SCRATCH, **decoding.SCRATCH, **ssd.SCRATCH}


def scratch_elements(call: KernelCall, traits: AdapterTraits) -> int:
    """Floats of scratch memory that a call's launches want."""
    wanted = SCRATCH.get(call.kernel)
    return wanted(call.operands, call.numbers, traits) if wanted else 0


def launches_of(plan: Plan, traits: AdapterTraits) -> list[list[Launch]]:
    """The dispatches of each call of a plan."""
    found = []
    for call in plan.program.calls:
        scratch = plan.scratch_of(call)
        operands = call.operands if scratch is None else (*call.operands, scratch.view())
        found.append(LAUNCHES[call.kernel](operands, call.numbers, traits))
    return found
