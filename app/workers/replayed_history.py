"""What an interrupted run had told before: the lines of its history as the events that they were, for the plots."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from typing import Any

MOST = 500  # events at a time: a window that takes in more stands still


def replayed_history(lines: Iterable[Mapping[str, Any]]) -> Iterator[tuple]:
    """Events in parts.  Memory by step is not kept, so it is empty; a line that is none is passed over."""
    part: list = []
    for line in lines:
        event = _event(line)
        if event is not None:
            part.append(event)
        if len(part) == MOST:
            yield tuple(part)
            part = []
    if part:
        yield tuple(part)


def _event(line: Mapping[str, Any]):
    from engine.model.step import LayerInsight
    from engine.train.events import CheckpointEvent, EvaluationEvent, LayerEvent, NoteEvent, StepEvent

    kinds = {kind.event: kind for kind in (StepEvent, EvaluationEvent, LayerEvent, CheckpointEvent, NoteEvent)}
    kind = kinds.get(line.get("event"))
    if kind is None:
        return None
    try:
        values = _values(kind, line)
        if kind is StepEvent:
            values["memory"] = {}
        elif kind is LayerEvent:
            values["layers"] = tuple(LayerInsight(**_values(LayerInsight, layer)) for layer in line["layers"])
        return kind(**values)
    except (KeyError, TypeError):
        return None


def _values(kind: type, line: Mapping[str, Any]) -> dict[str, Any]:
    """By field; a number that was not finite was written as null, which some fields may be."""
    return {
        field.name: math.nan if line[field.name] is None and field.type == "float" else line[field.name]
        for field in fields(kind)
        if field.name in line
    }
