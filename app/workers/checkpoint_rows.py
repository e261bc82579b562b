"""Manifests of the store as the values that the Checkpoints page shows."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
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
from app.values.completion import BUILT_IN, STARTER

LOSS, BEFORE = "held_out_loss", "held_out_before"


def shown_name(manifest) -> str:
    """A checkpoint's name for people; the built-in model is called the same everywhere in the window."""
    return BUILT_IN if _is_built_in(manifest) else manifest.name


def merge_name(store, first: str, second: str) -> str:
    """The default name of a merge."""
    return " + ".join(shown_name(store.get(id))[:50] for id in (first, second))


def _is_built_in(manifest) -> bool:
    return manifest.mode == "import" and manifest.name == STARTER


def row_of(manifest, names: dict[str, str]) -> CheckpointRow:
    """`names`: those of all checkpoints by id."""
    from engine.checkpoints.store.recitation import recitation_of
    from engine.checkpoints.store.trained_folder import trained_on

    base = manifest.base.id if manifest.base else ""
    recitation = recitation_of(manifest)
    return CheckpointRow(
        id=manifest.id,
        name=shown_name(manifest),
        created=manifest.created,
        kind=manifest.kind,
        mode="base" if _is_built_in(manifest) else manifest.mode,
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
        recited=recitation.words() if recitation else (),
        built_in=_is_built_in(manifest),
    )


def row_in(store, manifest) -> CheckpointRow:
    """The row of one that was just saved."""
    return row_of(manifest, {each.id: shown_name(each) for each in store.list()})


def listing_of(store) -> Listing:
    """Everything in the store, from one reading of it."""
    from engine.model.starter import starter_folder

    found = store.survey()
    manifests = found.newest_first()
    names = {manifest.id: shown_name(manifest) for manifest in manifests}
    rows = [row_of(manifest, names) for manifest in manifests]
    rows += [CheckpointRow(each.id, each.id[:8], problem=each.reason) for each in found.unreadable]
    trash = tuple(map(trash_row, store.trash()))
    return Listing(tuple(rows), trash, lineage_tree(rows), starter_folder() is not None)


def trash_row(item) -> TrashRow:
    """A checkpoint in the trash, of which only the name is known."""
    return TrashRow(item.key, item.id, BUILT_IN if item.name == STARTER else item.name, item.deleted)


def lineage_tree(rows: list[CheckpointRow]) -> tuple[LineageNode, ...]:
    """Every row under what it was made from, siblings oldest first, in drawing order."""
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
    nodes += [LineageNode(row, "", 0) for row in rows if row.id not in seen]  # part of a cycle, which is damage
    return tuple(nodes)


def curve_of(store, manifest, look: Callable[[], None]) -> HistoryCurve:
    """The losses in its history; `look` is called for each line and may raise to cancel."""
    import numpy as np

    steps: list[tuple[float, float]] = []
    held_out: list[tuple[float, float]] = []
    for line in store.history(manifest.id):
        look()
        if line.get("event") == "step" and line.get("loss") is not None:
            steps.append((line["step"], line["loss"]))
        elif line.get("event") == "evaluation" and line.get("held_out_loss") is not None:
            held_out.append((line["step"], line["held_out_loss"]))
    first, second = (np.array(pairs, np.float64).reshape(-1, 2) for pairs in (steps, held_out))
    columns = (first[:, 0], first[:, 1], second[:, 0], second[:, 1])
    return HistoryCurve(manifest.id, shown_name(manifest), *(np.ascontiguousarray(column) for column in columns))


def details_of(store, id: str, look: Callable[[], None]) -> CheckpointDetails:
    """All about one checkpoint, without what a missing base would add.

    `look` is called on the way and may raise to cancel.
    """
    from engine.checkpoints.store.card import model_card
    from engine.checkpoints.store.recitation import RECITATION
    from engine.errors import CheckpointError
    from engine.session.changes import SEEN

    manifest = store.get(id)
    look()
    found = store.survey()  # once: it reads every manifest there is
    look()
    names = {each.id: shown_name(each) for each in found.checkpoints.values()}
    config = store.config(manifest.id)
    problem = ""
    try:
        lineage = found.lineage(manifest)
    except CheckpointError as error:
        lineage, problem = [manifest], error.message
    return CheckpointDetails(
        row=dataclasses.replace(row_of(manifest, names), problem=problem),
        card=model_card(*_named(manifest), config, *_named(*lineage[1:2])),
        options=dict(manifest.options),
        metrics=dict(manifest.metrics),
        data={key: value for key, value in manifest.data.items() if key not in (SEEN, RECITATION)},  # not for people
        files=tuple((name, record.size) for name, record in manifest.files.items()),
        lineage=tuple(row_of(each, names) for each in lineage),
        dependants=tuple(row_of(each, names) for each in found.dependants(manifest)),
        curve=curve_of(store, manifest, look),
        parameters=config.parameter_count,
        folder=str(store.folder_of(manifest.id)),
    )


def _named(*manifests) -> list:
    """Manifests with the names that people see."""
    return [dataclasses.replace(each, name=shown_name(each)) for each in manifests]


class _Counted(Mapping):
    """The parameters of one side; `report` is called for each, and may raise to cancel."""

    def __init__(self, parameters: Mapping, report: Callable[[int, int], None]) -> None:
        self._parameters, self._report = parameters, report

    def __getitem__(self, name: str):
        return self._parameters[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._parameters)

    def __len__(self) -> int:
        return len(self._parameters)

    def items(self) -> Iterator[tuple[str, Any]]:
        for done, item in enumerate(self._parameters.items()):
            self._report(done, len(self))
            yield item


def comparison_of(store, first: str, second: str, report: Callable[[int, int], None]) -> ComparisonView:
    """How much two checkpoints differ; `report`: tensors done, tensors in all."""
    from engine.checkpoints.combining.compare import MEASURES, compare
    from engine.checkpoints.combining.sides import side_of

    names = {each.id: shown_name(each) for each in store.list()}
    side = side_of(store, first)
    side = dataclasses.replace(side, parameters=_Counted(side.parameters, report))
    found = compare(side, side_of(store, second))
    maps = {}
    for measure in MEASURES:
        heat = found.heat_map(measure)
        maps[measure] = HeatMapView(**vars(heat))
    whole = found.whole
    return ComparisonView(
        row_of(store.get(first), names),
        row_of(store.get(second), names),
        maps,
        whole.relative_l2,
        whole.cosine,
        whole.changed_share,
        tuple((each.name, _shown(each.first), _shown(each.second)) for each in found.options),
        tuple((each.name, _score(each.first), _score(each.second)) for each in found.metrics),
    )


def export_formats() -> dict[str, tuple[str, ...]]:
    """Precisions by format, the default first; empty for a format that stores weights unchanged."""
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


def _score(value: Any) -> str:
    """With as many digits as everywhere else."""
    return f"{value:.3f}" if isinstance(value, float) else _shown(value)


def _shown(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
