"""The saved history of an interrupted run, turned back into events for the plots."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any

MOST = 500  # events at a time: more would freeze the window


def replayed_history(lines: Iterable[Mapping[str, Any]]) -> Iterator[tuple]:
    """Events in parts.  A step without memory holds what the plan or step before it held; other lines are skipped."""
    part: list = []
    memory: Mapping[str, int] = {}
    for line in lines:
        memory = line.get("memory", memory)
        event = _event(line, memory)
        if event is not None:
            part.append(event)
        if len(part) == MOST:
            yield tuple(part)
            part = []
    if part:
        yield tuple(part)


def _event(line: Mapping[str, Any], memory: Mapping[str, int]):
    from engine.model.step import LayerInsight
    from engine.train.events import CheckpointEvent, EvaluationEvent, LayerEvent, NoteEvent, StepEvent

    kinds = {kind.event: kind for kind in (StepEvent, EvaluationEvent, LayerEvent, CheckpointEvent, NoteEvent)}
    kind = kinds.get(line.get("event"))
    if kind is None:
        return None
    try:
        values = _values(kind, line)
        if kind is StepEvent:
            values["memory"] = dict(memory)
        elif kind is LayerEvent:
            values["layers"] = tuple(
                LayerInsight(**_values(LayerInsight, layer) | {"expert_load": _shares(layer)})
                for layer in line["layers"]
            )
        return kind(**values)
    except (KeyError, TypeError, ValueError):
        return None


def _shares(layer: Mapping[str, Any]) -> tuple[float, ...]:
    """The load of a layer's experts; older histories have none."""
    return tuple(map(float, layer.get("expert_load", ())))


def _values(kind: type, line: Mapping[str, Any]) -> dict[str, Any]:
    """By field; a number that was not finite was written as null, which some fields may be."""
    return {
        field.name: math.nan if line[field.name] is None and field.type == "float" else line[field.name]
        for field in fields(kind)
        if field.name in line
    }
