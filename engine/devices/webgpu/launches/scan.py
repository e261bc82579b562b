"""Launches of the selective scan and its backward: which variant runs, and how much workspace it needs.

Variants of the scan; milliseconds on llvmpipe (two cores) at b 4, l 256, d 512, n 16:

    wide          25   four channels per lane: for software adapters
    lanes         90   one channel per lane, tokens in order: for GPUs
    chunked      140   three phases, for few channels and long sequences on GPUs
    kogge_stone  860   a prefix scan over time, never chosen automatically

The backward has `wide` (160) for software adapters, `chunked` in four phases for GPUs, and `lanes` (330) for more
states than that takes.
"""

from __future__ import annotations

from engine.devices.webgpu.launch import AdapterTraits, Launch, Views, ceil_div, flat_grid, pack, start, whole
from engine.errors import InputError
from engine.graph.kernels import STATE_INTERVAL

CHANNEL_BLOCK = 64  # channels of a workgroup, hence of a row of the partial sums of d_B and d_C
FEW_LANES = AdapterTraits.few_lanes  # where it was not measured
LONG = 256  # tokens from which on the chunks are worth twice the work
MOST_TURNS = 60_000  # of the loops of a lane in one dispatch, on a software adapter
WIDE_STATES = 128  # more would not fit the workgroup memory of the wide backward
STRIP_BYTES = 64 << 20  # of workspace for the backward: more would not run at once anyway

CHUNKED_STATES = 16  # most that the chunked backward takes: four a lane, 256 lanes

VARIANTS = ("lanes", "wide", "chunked", "kogge_stone")
BACKWARD_VARIANTS = ("lanes", "wide", "chunked")


def workspace_elements(kernel: str, b: int, l: int, d: int, n: int, traits: AdapterTraits) -> int:
    """float32 elements of the workspace operand; 0 where the kernel needs none."""
    if kernel == "selective_scan":
        return b * ceil_div(l, STATE_INTERVAL) * d if _prefers_chunks(b, l, d, traits) else 0
    if kernel == "selective_scan_backward":
        if backward_variant(n, traits.software) == "chunked":
            return b * ceil_div(l, STATE_INTERVAL) * (n + 2) * d
        strip = _strip_elements(n)
        return strip * min(b * ceil_div(d, CHANNEL_BLOCK), max(1, STRIP_BYTES // 4 // strip))
    raise InputError(f"The kernel {kernel} has no workspace.")


def scan_variant(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> str:
    """The best variant for this call and adapter."""
    if traits.software:
        return "wide"
    u, workspace = views[0], views[6]
    length = int(numbers["length"])
    chunked = workspace is not None and _prefers_chunks(u.shape[0] // length, length, u.shape[1], traits)
    return "chunked" if chunked else "lanes"


def backward_variant(n: int, software: bool) -> str:
    """The best variant of the backward for so many states and this adapter."""
    if software:
        return "wide" if n <= WIDE_STATES else "lanes"
    return "chunked" if n <= CHUNKED_STATES else "lanes"


def selective_scan(
    views: Views, numbers: dict[str, float], traits: AdapterTraits, variant: str | None = None
) -> list[Launch]:
    """The scan by `variant`, or by the best one."""
    u, delta, x_dbl, coefficients, states, y, workspace = views
    variant = variant or scan_variant(views, numbers, traits)
    length = int(numbers["length"])
    (tokens, width), n = u.shape, coefficients.shape[0] - 2
    sequences, blocks, chunks = tokens // length, ceil_div(width, CHANNEL_BLOCK), ceil_div(length, STATE_INTERVAL)
    sizes = (sequences, length, width, blocks, chunks, int(numbers["rank"]), x_dbl.stride, bool(numbers["carry"]))
    offsets = (whole(u), whole(delta), start(x_dbl), whole(coefficients), whole(states), whole(y), whole(workspace))

    def launch(shader: str, groups: int, first_chunk: int = 0, last_chunk: int = chunks) -> Launch:
        parameters = pack(*sizes, *offsets, first_chunk, last_chunk)
        return Launch(shader, views, parameters, flat_grid(groups), header={"N": n})

    if variant == "lanes":
        return [launch("selective_scan", sequences * blocks)]
    if variant == "wide":
        ranges = _chunk_ranges(chunks, turns=n + 3)
        return [launch("selective_scan_wide", sequences * blocks, first, last) for first, last in ranges]
    if variant == "kogge_stone":
        return [launch("selective_scan_kogge_stone", sequences * width)]
    if variant == "chunked":
        if workspace is None or workspace.size < sequences * chunks * width:
            raise InputError("The chunked scan needs a workspace of sequences * chunks * channels.")
        return [
            launch("selective_scan_chunk", sequences * chunks * blocks),
            launch("selective_scan_carry", sequences * n * blocks),
            launch("selective_scan_emit", sequences * chunks * blocks),
        ]
    raise InputError(f"There is no scan variant {variant}.", f"Take one of {', '.join(VARIANTS)}.")


def selective_scan_backward(
    views: Views, numbers: dict[str, float], traits: AdapterTraits, variant: str | None = None
) -> list[Launch]:
    """The backward by `variant`, or by the best one.

    `lanes` and `wide` have as many workgroups as the workspace has strips.
    """
    u, delta, x_dbl, coefficients, states, d_y, partials, workspace = views
    length = int(numbers["length"])
    (tokens, width), n = u.shape, coefficients.shape[0] - 2
    variant = variant or backward_variant(n, traits.software)
    if variant not in BACKWARD_VARIANTS:
        raise InputError(
            f"There is no variant {variant} of the scan's backward.", f"Take one of {', '.join(BACKWARD_VARIANTS)}."
        )
    sequences, blocks, chunks = tokens // length, ceil_div(width, CHANNEL_BLOCK), ceil_div(length, STATE_INTERVAL)
    parameters = (
        *(sequences, length, width, blocks, chunks, int(numbers["rank"]), x_dbl.stride),
        *(bool(numbers["want_inputs"]), bool(numbers["want_coefficients"])),
        *(whole(u), whole(delta), start(x_dbl), whole(coefficients), whole(states), whole(d_y), whole(partials)),
        partials.offset + blocks * tokens * 2 * n,
    )
    if variant == "chunked":
        if workspace is None or workspace.size < sequences * chunks * (n + 2) * width:
            raise InputError("The chunked backward of the scan needs a workspace of chunks * (n + 2) * channels.")
        packed = pack(*parameters, workspace.offset)
        phases = [("chunk", sequences * chunks), ("carry", sequences * n), ("walk", sequences * chunks)]
        if numbers["want_coefficients"]:
            phases.append(("sum", sequences * (n + 2)))
        return [
            Launch(f"selective_scan_backward_{phase}", views, packed, flat_grid(lines * blocks), header={"N": n})
            for phase, lines in phases
        ]
    strips = 0 if workspace is None else workspace.size // _strip_elements(n)
    if strips == 0 or workspace.offset % 4:
        raise InputError(
            f"The scan's backward needs a workspace of {_strip_elements(n)} elements a strip, aligned to 16 bytes.",
            "Ask workspace_elements for its size.",
        )
    groups = min(sequences * blocks, strips, 65_535)
    if variant == "lanes":
        shader, ranges = "selective_scan_backward", [(0, chunks)]
    else:
        shader = "selective_scan_backward_wide"
        ranges = reversed(_chunk_ranges(chunks, turns=(3 * n + 8) * ceil_div(sequences * blocks, groups)))
    return [
        Launch(shader, views, pack(*parameters, workspace.offset // 4, first, last), (groups, 1, 1), header={"N": n})
        for first, last in ranges
    ]


def _chunk_ranges(chunks: int, turns: int) -> list[tuple[int, int]]:
    """Chunks that one dispatch takes: on a software adapter the loops of a lane end after 65,535 turns, silently.

    `turns`: loop turns that a lane makes for a token.
    """
    step = max(1, MOST_TURNS // (turns * STATE_INTERVAL))
    return [(first, min(first + step, chunks)) for first in range(0, chunks, step)]


def _prefers_chunks(b: int, l: int, d: int, traits: AdapterTraits) -> bool:
    return not traits.software and b * d < traits.few_lanes and l >= LONG


def _strip_elements(n: int) -> int:
    """Kept products of one workgroup: 64 tokens, states in quads, 64 channels."""
    return STATE_INTERVAL * 4 * ceil_div(n, 4) * CHANNEL_BLOCK


LAUNCHES = {"selective_scan": selective_scan, "selective_scan_backward": selective_scan_backward}
