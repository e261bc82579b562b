"""Launches of what a dense decoder adds: rotation, attention and its backward, the cache, the gated MLP."""

from __future__ import annotations

import itertools

from engine.devices.webgpu.launch import AdapterTraits, Launch, Views, ceil_div, flat_grid, pack, start, whole
from engine.errors import InputError
from engine.graph.fused_kernels import KEPT_KEYS

ELEMENTS = 1024  # of a workgroup: 256 lanes, four each
LANES = 64  # of a workgroup of attention
WORKGROUP_BYTES = 16 * 1024  # portable
GPU_BYTES = 11 * 1024  # of them, so that four waves fit on a vector unit of AMD's, where a head allows it


def scale(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    (x,) = views
    parameters = pack(x.size, x.shape[1], x.stride, start(x), float(numbers["factor"]))
    return [Launch("scale", views, parameters, flat_grid(ceil_div(x.size, ELEMENTS)))]


def rope(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    x, *_ = views
    offsets = (whole(view) for view in views)
    parameters = pack(x.size // 2, x.shape[1], int(numbers["head_dim"]), float(numbers["sign"]), *offsets)
    return [Launch("rope", views, parameters, flat_grid(ceil_div(x.size // 2, 64)))]


def swiglu(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    return [_gated("swiglu", views)]


def swiglu_backward(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    return [_gated("swiglu_backward", views)]


def _gated(shader: str, views: Views) -> Launch:
    g = views[-1]
    parameters = pack(g.size, g.shape[1], *(whole(view) for view in views))
    return Launch(shader, views, parameters, flat_grid(ceil_div(g.size, ELEMENTS)))


def cache_append(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    x, reach, cache = views
    width = x.shape[1]
    if width % 2 or cache.offset % 2:
        raise InputError(f"A cache has rows of {width} numbers; it needs an even number.")
    words = x.size // 2
    parameters = pack(words, width, whole(x), whole(reach), whole(cache) // 2)
    return [Launch("cache_append", views, parameters, flat_grid(ceil_div(words, 64)))]


def kept_keys(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    q, k, v, reach, rotations, keys, values = views
    lanes = q.size // 2 + k.size // 4 + v.size // 2
    parameters = pack(
        *(int(numbers["head_dim"]), q.size, k.size, *(whole(view) for view in (q, k, v, reach, rotations))),
        *(whole(cache) // 2 for cache in (keys, values)),
    )
    return [Launch(KEPT_KEYS, views, parameters, flat_grid(ceil_div(lanes, 64)))]


def attention(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    q, k, *_ = views
    head_dim = int(numbers["head_dim"])
    tokens, heads, groups = q.shape[0], q.shape[1] // head_dim, k.shape[1] // head_dim
    parameters = pack(tokens, heads, groups, float(numbers["scale"]), *(whole(view) for view in views))
    header = _tiles(head_dim, traits, of_rows=1, scores=1)
    return [Launch("attention", views, parameters, flat_grid(ceil_div(tokens, header["ROWS"]) * heads), header=header)]


def attention_cached(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    q, k, *_ = views
    head_dim = int(numbers["head_dim"])
    tokens, heads, groups = q.shape[0], q.shape[1] // head_dim, k.shape[1] // head_dim
    parameters = pack(tokens, heads, groups, float(numbers["scale"]), *(whole(view) for view in views))
    header = {"HEAD_DIM": head_dim, "PER": ceil_div(head_dim, LANES)}
    return [Launch("attention_cached", views, parameters, flat_grid(tokens * heads), header=header)]


def attention_deltas(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    head_dim = int(numbers["head_dim"])
    tokens, heads = views[0].shape[0], views[0].shape[1] // head_dim
    parameters = pack(tokens * heads, heads, head_dim, *(whole(view) for view in views))
    return [Launch("attention_deltas", views, parameters, flat_grid(ceil_div(tokens * heads, 64)))]


def attention_backward_queries(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    _, q, k, *_ = views
    head_dim = int(numbers["head_dim"])
    tokens, heads, groups = q.shape[0], q.shape[1] // head_dim, k.shape[1] // head_dim
    parameters = pack(tokens, heads, groups, float(numbers["scale"]), *(whole(view) for view in views))
    header = _tiles(head_dim, traits, of_rows=2, scores=1)
    grid = flat_grid(ceil_div(tokens, header["ROWS"]) * heads)
    return [Launch("attention_backward_queries", views, parameters, grid, header=header)]


def attention_backward_keys(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    _, q, k, *_ = views
    head_dim, length = int(numbers["head_dim"]), int(numbers["length"])
    tokens, heads, groups = q.shape[0], q.shape[1] // head_dim, k.shape[1] // head_dim
    parameters = pack(tokens, length, heads, groups, float(numbers["scale"]), *(whole(view) for view in views))
    header = _tiles(head_dim, traits, of_rows=2, scores=2)
    grid = flat_grid(tokens // length * ceil_div(length, header["ROWS"]) * groups)
    return [Launch("attention_backward_keys", views, parameters, grid, header=header)]


def _tiles(head_dim: int, traits: AdapterTraits, of_rows: int, scores: int) -> dict[str, int]:
    """Rows of a workgroup and keys of a tile, as many as fit: `of_rows` matrices of each, `scores` of rows by keys."""
    tiles = ((16, 16), (16, 8), (8, 8), (8, 4), (4, 4), (4, 2), (2, 2))
    limits = (WORKGROUP_BYTES,) if traits.software else (GPU_BYTES, WORKGROUP_BYTES)
    for most, (rows, keys) in itertools.product(limits, tiles):
        if 4 * (of_rows * (rows + keys) * head_dim + scores * rows * keys) + 16 <= most:
            return {"ROWS": rows, "KEYS": keys, "HEAD_DIM": head_dim, "PER": ceil_div(head_dim, LANES // rows)}
    raise InputError(f"A head has {head_dim} channels, more than a workgroup holds.", "Use the device 'cpu'.")


LAUNCHES = {
    "scale": scale,
    "rope": rope,
    "swiglu": swiglu,
    "swiglu_backward": swiglu_backward,
    "cache_append": cache_append,
    KEPT_KEYS: kept_keys,
    "attention": attention,
    "attention_cached": attention_cached,
    "attention_deltas": attention_deltas,
    "attention_backward_queries": attention_backward_queries,
    "attention_backward_keys": attention_backward_keys,
}
