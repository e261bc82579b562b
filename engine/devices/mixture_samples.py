"""Small inputs for the kernels of a mixture of experts; see `samples`, which has those of all the others.

There are 3 to 6 experts, of which the second gets no token, and a token goes to `r` of the others at most. An expert is
`d` wide; a row of the router's numbers has no two that are equal.
"""

from __future__ import annotations

import numpy as np

from engine.devices.decode_samples import bytes_of
from engine.devices.sample_parts import Sizes, normal, sample
from engine.graph.kernels import FEW_TOKENS, Scalars

IDLE = 1  # the expert that gets no token
BLOCK = 64  # tokens whose sums are one row


def experts(s: Sizes) -> int:
    return 3 + s.v % 4


def chosen_few(s: Sizes) -> int:
    return min(s.r, experts(s) - 1)


def _logits(random, s) -> np.ndarray:
    logits = normal(random, s.t, experts(s), scale=2)
    logits[:, IDLE] = logits.min(axis=1) - 1
    return logits


def _routed(random, s) -> dict[str, np.ndarray]:
    """logits, and what `route` makes of them."""
    from engine.devices.mixture_reference import route

    logits = _logits(random, s)
    found = route(logits.astype(np.float64), np.zeros((s.t, chosen_few(s)), np.int32), None)
    return {"logits": logits, "chosen": found["chosen"], "gates": found["gates"].astype(np.float32)}


def _grouped(random, s) -> dict[str, np.ndarray]:
    from engine.devices.mixture_reference import group_rows

    chosen, starts = _routed(random, s)["chosen"], np.zeros(experts(s) + 1, np.int32)
    return group_rows(chosen, None, None, None, starts)


def _targets(random, s) -> np.ndarray:
    """One in five counts for nothing, the first does."""
    targets = np.where(random.random(s.t) < 0.2, -1, 0).astype(np.int32)
    targets[0] = 0
    return targets


def _route(random, s, given):
    shape = (s.t, chosen_few(s))
    return sample(
        "route", s, given, {},
        logits=_logits(random, s), chosen=np.zeros(shape, np.int32), gates=np.zeros(shape, np.float32),
    )  # fmt: skip


def _route_backward(random, s, given):
    routed = _routed(random, s)
    return sample(
        "route_backward", s, given, {},
        d_gates=normal(random, *routed["gates"].shape), gates=routed["gates"], chosen=routed["chosen"],
        logits=routed["logits"], pull=normal(random, experts(s)), targets=_targets(random, s),
        d_logits=np.zeros_like(routed["logits"]),
    )  # fmt: skip


def _routing_sums(random, s, given):
    routed, parts = _routed(random, s), -(-s.t // BLOCK)
    return sample(
        "routing_sums", s, given, {},
        logits=routed["logits"], chosen=routed["chosen"], targets=_targets(random, s),
        counts=np.zeros((parts, experts(s)), np.float32), chances=np.zeros((parts, experts(s) + 1), np.float32),
    )  # fmt: skip


def _balance(random, s, given):
    layers, e = s.k, experts(s)
    counts = random.integers(0, s.t + 1, (layers, e)).astype(np.float32)
    chances = np.abs(normal(random, layers, e + 1))
    chances[:, e] = s.t
    scalars = np.zeros(Scalars.COUNT, np.float32)
    scalars[Scalars.GRADIENT_SCALE] = 1 / s.t
    return sample(
        "balance", s, given, {"factor": 0.3},
        counts=counts, chances=chances, scalars=scalars, loss=np.abs(normal(random, 1)), pull=np.zeros(e, np.float32),
    )  # fmt: skip


def _group_rows(random, s, given):
    chosen = _routed(random, s)["chosen"]
    order, starts = np.zeros(chosen.size, np.int32), np.zeros(experts(s) + 1, np.int32)
    return sample(
        "group_rows", s, given, {}, chosen=chosen, order=order, tokens=order.copy(), places=np.zeros_like(chosen),
        starts=starts,
    )  # fmt: skip


def _grouped_product(layout: str):
    def make(random, s, given):
        grouped, e = _grouped(random, s), experts(s)
        rows, starts = grouped["order"].size, grouped["starts"]
        a = normal(random, rows, s.m)
        b = {"nt": (e * s.d, s.m), "nn": (e * s.m, s.d), "tn": (rows, s.d)}[layout]
        c = (e * s.m, s.d) if layout == "tn" else (rows, s.d)
        usual = {"nt": {}, "nn": {"alpha": 0.5}, "tn": {"alpha": 0.5, "accumulate": 1}}[layout]
        return sample(
            f"grouped_{layout}", s, given, usual, a=a, b=normal(random, *b), starts=starts, c=normal(random, *c)
        )

    return make


def _routed_swiglu(random, s, given):
    gates, order = _routed(random, s)["gates"], _grouped(random, s)["order"]
    return sample(
        "routed_swiglu", s, given, {},
        joined=normal(random, order.size, 2 * s.d, scale=3), gates=gates, order=order,
        g=np.zeros((order.size, s.d), np.float32),
    )  # fmt: skip


def _routed_swiglu_backward(random, s, given):
    gates, order = _routed(random, s)["gates"], _grouped(random, s)["order"]
    return sample(
        "routed_swiglu_backward", s, given, {},
        d_g=normal(random, order.size, s.d), joined=normal(random, order.size, 2 * s.d, scale=3), gates=gates,
        order=order, g=np.zeros((order.size, s.d), np.float32), d_gates=np.zeros_like(gates),
    )  # fmt: skip


def _combine(random, s, given):
    places = _grouped(random, s)["places"]
    rows = normal(random, places.size, s.m)
    return sample("combine", s, given, {"factor": 0.5}, rows=rows, places=places, y=normal(random, s.t, s.m))


def _few(random, s):
    """inputs (t, m) and the experts of at most eight tokens, with c (t*k, d)."""
    chosen = _routed(random, s)["chosen"][:FEW_TOKENS]
    return {"inputs": normal(random, len(chosen), s.m), "chosen": chosen, "c": np.zeros((chosen.size, s.d), np.float32)}


def _expert_rows_nt(random, s, given):
    return sample("expert_rows_nt", s, given, {}, **_few(random, s), b=normal(random, experts(s) * s.d, s.m))


def _expert_rows_nt_float16(random, s, given):
    b = normal(random, experts(s) * s.d, s.m).astype(np.float16)
    return sample("expert_rows_nt_float16", s, given, {}, **_few(random, s), b=b)


def _expert_rows_nt_int8(random, s, given):
    words, scales = bytes_of(random, experts(s) * s.d, s.m)
    return sample("expert_rows_nt_int8", s, given, {}, **_few(random, s), b=words, scales=scales)


MAKERS = {
    "route": _route,
    "route_backward": _route_backward,
    "routing_sums": _routing_sums,
    "balance": _balance,
    "group_rows": _group_rows,
    **{f"grouped_{layout}": _grouped_product(layout) for layout in ("nt", "nn", "tn")},
    "routed_swiglu": _routed_swiglu,
    "routed_swiglu_backward": _routed_swiglu_backward,
    "combine": _combine,
    "expert_rows_nt": _expert_rows_nt,
    "expert_rows_nt_float16": _expert_rows_nt_float16,
    "expert_rows_nt_int8": _expert_rows_nt_int8,
}
