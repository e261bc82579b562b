"""Launches of a mixture of experts: routing, sorting rows by expert, and the products of the experts.

How many rows an expert has is known on the device only. So the products of rows are dispatched with as many tiles as
the rows could need at most, rows / TILE + experts, and a workgroup finds out there which expert's tile it has.
"""

from __future__ import annotations

from engine.devices.webgpu.launch import AdapterTraits, Launch, LaunchFunction, Views, ceil_div, flat_grid, pack, whole
from engine.devices.webgpu.launches.elementwise import ELEMENTS
from engine.devices.webgpu.launches.matmul import CPU_LANES, ROWS_COLUMNS
from engine.errors import InputError
from engine.graph.kernels import FEW_TOKENS
from engine.graph.tensor import View

TILE = 32  # lines and columns of a workgroup's output
TOKENS = 64  # of a workgroup that has a lane for each
LANES = 64  # of a workgroup that multiplies a row in decoding
LONGEST_SUM = 50_000  # terms that a software adapter adds up: it ends all loops of a lane after 65,535 turns, silently


def route(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    logits, chosen, _gates = views
    parameters = pack(*logits.shape, chosen.shape[1], *map(whole, views))
    return [Launch("route", views, parameters, flat_grid(ceil_div(logits.shape[0], TOKENS)))]


def route_backward(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    _d_gates, gates, _chosen, logits, pull, _targets, _d_logits = views
    parameters = pack(*logits.shape, gates.shape[1], pull is not None, *map(whole, views))
    return [Launch("route_backward", views, parameters, flat_grid(ceil_div(logits.shape[0], TOKENS)))]


def routing_sums(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    logits, chosen, _targets, counts, _chances = views
    parts = counts.shape[0]
    sizes = (*logits.shape, chosen.shape[1], parts, ceil_div(logits.shape[0], parts))
    return [Launch("routing_sums", views, pack(*sizes, *map(whole, views)), flat_grid(parts))]


def balance(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    parameters = pack(*views[0].shape, float(numbers["factor"]), *map(whole, views))
    return [Launch("balance", views, parameters, flat_grid(1))]


def group_rows(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    chosen, *_, starts = views
    experts = starts.size - 1
    parameters = pack(chosen.size, chosen.shape[1], experts, *map(whole, views))
    return [Launch("group_rows", views, parameters, flat_grid(experts))]


def _grouped(
    kernel: str,
    views: Views,
    numbers: dict[str, float],
    sizes: tuple[int, int, int],
    steps: tuple[int, ...],
    tiles: int,
) -> list[Launch]:
    """`sizes`: m, n and k where they are the same for all experts; `steps`: a_row, a_step, b_row, b_step; `tiles`: of
    lines, all experts together.
    """
    a, b, starts, c = views
    (m, n, k), (a_row, a_step, b_row, b_step) = sizes, steps
    across = ceil_div(n, TILE)
    parameters = pack(
        *(starts.size - 1, m, n, k, int(numbers.get("accumulate", 0)), float(numbers.get("alpha", 1.0)), tiles, across),
        *(whole(a), a_row, a_step, whole(b), b_row, b_step, whole(c), c.shape[1], whole(starts)),
    )
    return [Launch(kernel, (a, b, starts, c), parameters, flat_grid(tiles * across))]


def grouped_nt(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    a, _b, starts, c = views
    (rows, k), n = a.shape, c.shape[1]
    return _grouped("grouped_nt", views, numbers, (0, n, _summed(k, traits)), (k, 1, k, 1), _row_tiles(rows, starts))


def grouped_nn(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    a, _b, starts, c = views
    (rows, k), n = a.shape, c.shape[1]
    return _grouped("grouped_nn", views, numbers, (0, n, _summed(k, traits)), (k, 1, 1, n), _row_tiles(rows, starts))


def grouped_tn(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    a, b, starts, _c = views
    (rows, m), n, experts = a.shape, b.shape[1], starts.size - 1
    _summed(rows, traits)
    return _grouped("grouped_tn", views, numbers, (m, n, 0), (1, m, 1, n), ceil_div(m, TILE) * experts)


def _row_tiles(rows: int, starts: View) -> int:
    return rows // TILE + starts.size - 1


def _summed(terms: int, traits: AdapterTraits) -> int:
    if traits.software and terms > LONGEST_SUM:
        raise InputError(f"A software adapter adds up at most {LONGEST_SUM} numbers of an expert, not {terms}.")
    return terms


def routed_swiglu(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    _joined, _gates, order, g = views
    parameters = pack(g.size, g.shape[1], order is not None, *map(whole, views))
    return [Launch("routed_swiglu", views, parameters, flat_grid(ceil_div(g.size, ELEMENTS)))]


def routed_swiglu_backward(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    d_g = views[0]
    return [Launch("routed_swiglu_backward", views, pack(*d_g.shape, *map(whole, views)), flat_grid(d_g.shape[0]))]


def combine(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    rows, places, y = views
    parameters = pack(
        *(y.size, y.shape[1], rows.shape[0] // y.shape[0], places is not None, float(numbers["factor"])),
        *map(whole, views),
    )
    return [Launch("combine", views, parameters, flat_grid(ceil_div(y.size, ELEMENTS)))]


def _expert_rows(kernel: str) -> LaunchFunction:
    def launch(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
        inputs, b, chosen, c, *scales = views
        if chosen.shape[0] > FEW_TOKENS:
            raise InputError(f"{kernel} takes at most {FEW_TOKENS} tokens at a time, not {chosen.shape[0]}.")
        rows, columns = c.shape
        parameters = pack(
            *(rows, inputs.shape[1], columns, rows // inputs.shape[0]),
            *(whole(inputs), whole(b), b.shape[1], whole(chosen), whole(c)),
            *((whole(scales[0]), scales[0].shape[1]) if scales else (0, 0)),
        )
        lanes = CPU_LANES if traits.software else LANES  # one vector of a CPU: fewer lanes leave fewer sums at the end
        constants = {"lanes": float(lanes), "slots": float(lanes * ROWS_COLUMNS)}
        return [Launch(kernel, views, parameters, flat_grid(rows * ceil_div(columns, ROWS_COLUMNS)), constants)]

    launch.__name__ = kernel
    return launch


LAUNCHES = {
    "route": route,
    "route_backward": route_backward,
    "routing_sums": routing_sums,
    "balance": balance,
    "group_rows": group_rows,
    "grouped_nt": grouped_nt,
    "grouped_nn": grouped_nn,
    "grouped_tn": grouped_tn,
    "routed_swiglu": routed_swiglu,
    "routed_swiglu_backward": routed_swiglu_backward,
    "combine": combine,
    **{name: _expert_rows(name) for name in ("expert_rows_nt", "expert_rows_nt_float16", "expert_rows_nt_int8")},
}
