"""Manifests of the store as the values that the Checkpoints page shows."""

from __future__ import annotations

import dataclasses
from typing import Any

from app.values.checkpoints import (
    CheckpointDetails,
    CheckpointRow,
    ComparisonView,
    HeatMapView,
    HistoryCurve,
    LineageNode,
    Listing,
    PrecisionLine,
    TrashRow,
)
from app.workers.changes import trained_on
from app.workers.starter import starter_folder

LOSS, BEFORE = "held_out_loss", "held_out_before"


def row_of(manifest, names: dict[str, str]) -> CheckpointRow:
    """`names`: those of all checkpoints by id."""
    base = manifest.base.id if manifest.base else ""
    return CheckpointRow(
        id=manifest.id,
        name=manifest.name,
        created=manifest.created,
        kind=manifest.kind,
        mode=manifest.mode,
        base=base,
        base_name=names.get(base, "not here" if base else ""),
        parents=manifest.parents,
        run=manifest.run,
        step=manifest.step,
        held_out_loss=manifest.metrics.get(LOSS),
        held_out_before=manifest.metrics.get(BEFORE),
        nbytes=manifest.nbytes,
        tags=manifest.tags,
        pinned=manifest.pinned,
        note=manifest.note,
        precision=manifest.precision,
        repository=trained_on(manifest),
    )


def listing_of(store) -> Listing:
    """Everything in the store, from one reading of it."""
    found = store.survey()
    manifests = found.newest_first()
    names = {manifest.id: manifest.name for manifest in manifests}
    rows = [row_of(manifest, names) for manifest in manifests]
    rows += [CheckpointRow(each.id, each.id[:8], problem=each.reason) for each in found.unreadable]
    trash = tuple(TrashRow(item.key, item.id, item.name, item.deleted) for item in store.trash())
    return Listing(tuple(rows), trash, lineage_tree(rows), starter_folder() is not None)


def lineage_tree(rows: list[CheckpointRow]) -> tuple[LineageNode, ...]:
    """Every row under what it was made from, oldest first among its kind, in drawing order."""
    known = {row.id for row in rows}
    children: dict[str, list[CheckpointRow]] = {}
    for row in sorted(rows, key=lambda each: each.created):
        above = next((id for id in (*row.parents, row.base) if id in known and id != row.id), "")
        children.setdefault(above, []).append(row)
    nodes: list[LineageNode] = []
    seen: set[str] = set()
    waiting = [(row, "", 0) for row in reversed(children.get("", []))]
    while waiting:
        row, parent, depth = waiting.pop()
        if row.id in seen:
            continue
        seen.add(row.id)
        nodes.append(LineageNode(row, parent, depth))
        waiting += [(child, row.id, depth + 1) for child in reversed(children.get(row.id, []))]
    nodes += [LineageNode(row, "", 0) for row in rows if row.id not in seen]  # of a circle, which is damage
    return tuple(nodes)


def curve_of(store, manifest) -> HistoryCurve:
    """The losses in its history."""
    import numpy as np

    steps: list[tuple[float, float]] = []
    held_out: list[tuple[float, float]] = []
    for line in store.history(manifest.id):
        if line.get("event") == "step" and line.get("loss") is not None:
            steps.append((line["step"], line["loss"]))
        elif line.get("event") == "evaluation" and line.get("held_out_loss") is not None:
            held_out.append((line["step"], line["held_out_loss"]))
    first, second = (np.array(pairs, np.float64).reshape(-1, 2) for pairs in (steps, held_out))
    columns = (first[:, 0], first[:, 1], second[:, 0], second[:, 1])
    return HistoryCurve(manifest.id, manifest.name, *(np.ascontiguousarray(column) for column in columns))


def details_of(store, id: str) -> CheckpointDetails:
    """All about one checkpoint; what its base would tell is left out where the base is missing."""
    from engine.checkpoints.card import model_card
    from engine.errors import CheckpointError

    manifest = store.get(id)
    found = store.survey()  # once: it reads every manifest there is
    names = {each.id: each.name for each in found.checkpoints.values()}
    config = store.config(manifest.id)
    problem = ""
    try:
        lineage = found.lineage(manifest)
    except CheckpointError as error:
        lineage, problem = [manifest], error.message
    return CheckpointDetails(
        row=dataclasses.replace(row_of(manifest, names), problem=problem),
        card=model_card(manifest, config, lineage[1] if len(lineage) > 1 else None),
        options=dict(manifest.options),
        metrics=dict(manifest.metrics),
        data=dict(manifest.data),
        files=tuple((name, record.size) for name, record in manifest.files.items()),
        lineage=tuple(row_of(each, names) for each in lineage),
        dependants=tuple(row_of(each, names) for each in found.dependants(manifest)),
        curve=curve_of(store, manifest),
        parameters=config.parameter_count,
        folder=str(store.folder_of(manifest.id)),
    )


def comparison_of(store, first: str, second: str) -> ComparisonView:
    """How far two are apart."""
    from engine.checkpoints.compare import MEASURES, compare
    from engine.checkpoints.sides import side_of

    names = {each.id: each.name for each in store.list()}
    found = compare(side_of(store, first), side_of(store, second))
    maps = {}
    for measure in MEASURES:
        heat = found.heat_map(measure)
        maps[measure] = HeatMapView(measure, heat.layers, heat.kinds, heat.values, dict(heat.outside))
    whole = found.whole
    return ComparisonView(
        row_of(store.get(first), names),
        row_of(store.get(second), names),
        maps,
        whole.relative_l2,
        whole.cosine,
        whole.changed_share,
        tuple((each.name, _shown(each.first), _shown(each.second)) for each in found.options),
        tuple((each.name, _shown(each.first), _shown(each.second)) for each in found.metrics),
    )


def export_formats() -> dict[str, tuple[str, ...]]:
    """Precisions by format, the default first; empty where it is written as it is."""
    from engine.checkpoints.formats.exporting import DEFAULT_PRECISION, FORMATS

    return {
        name: tuple(sorted(precisions, key=lambda each: each != DEFAULT_PRECISION.get(name)))
        for name, precisions in FORMATS.items()
    }


def precision_line(row) -> PrecisionLine:
    """One row of the engine's precision table."""
    return PrecisionLine(
        row.precision,
        row.words,
        row.experimental,
        row.nbytes,
        row.share,
        row.largest_error,
        row.held_out_loss,
        row.problem,
    )


def _shown(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
