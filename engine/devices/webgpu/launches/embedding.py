"""Launches of the embedding: rows out of the table, their gradients back into it, and trained rows back in place."""

from __future__ import annotations

from engine.devices.webgpu.launch import AdapterTraits, Launch, ceil_div, flat_grid, pack
from engine.devices.webgpu.launches.operands import Views, whole


def embedding_gather(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    ids, table, _y = views
    rows, width = table.shape
    parameters = pack(ids.size, rows, width, int(numbers["first_row"]), *(whole(view) for view in views))
    return [Launch("embedding_gather", views, parameters, flat_grid(ids.size))]


def embedding_scatter(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    ids, _order, _d_y, d_table = views
    rows, width = d_table.shape
    parameters = pack(ids.size, rows, width, int(numbers["first_row"]), *(whole(view) for view in views))
    return [Launch("embedding_scatter", views, parameters, flat_grid(ids.size * ceil_div(width, 64)))]


def embedding_store(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    ids, _x, table = views
    rows, width = table.shape
    parameters = pack(ids.size, rows, width, int(numbers["first_row"]), *(whole(view) for view in views))
    return [Launch("embedding_store", views, parameters, flat_grid(ids.size))]


def gather_columns(views: Views, numbers: dict[str, float], traits: AdapterTraits) -> list[Launch]:
    ids, x, y = views
    parameters = pack(y.size, ids.size, x.shape[1], *(whole(view) for view in views))
    return [Launch("gather_columns", views, parameters, flat_grid(ceil_div(y.size, 1024)))]


LAUNCHES = {
    "embedding_gather": embedding_gather,
    "embedding_scatter": embedding_scatter,
    "embedding_store": embedding_store,
    "gather_columns": gather_columns,
}
