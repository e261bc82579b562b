"""A saved history gives the same events again."""

from __future__ import annotations

import json
import math
from dataclasses import replace

from app.state.run_history import RunHistory
from app.workers.replayed_history import MOST, replayed_history
from engine.session.results import History
from engine.train.events import PlanEvent
from tests.window.adapt.desk import events, layers, note


def test_a_plot_cannot_tell_them_from_the_first_telling():
    told = [*events(1200, every=100), layers(), note(40, "It learns.")]
    history = History()
    history.add(told)
    lines = [json.loads(json.dumps(line)) for line in history.lines]
    parts = [*replayed_history(lines)]
    assert max(map(len, parts)) == MOST and sum(map(len, parts)) == len(told)
    first, again = RunHistory(), RunHistory()
    for event in told:
        first.add(event)
    for event in (event for part in parts for event in part):
        again.add(event)
    for name in ("step", "loss", "rate", "gradient_norm", "tokens_per_second", "evaluation_step", "evaluation_loss"):
        assert list(getattr(again, name)) == list(getattr(first, name)), name
    assert all(list(again.memory[kind]) == list(first.memory[kind]) for kind in first.memory) and first.memory
    assert (again.layers, again.notes, again.begin_loss) == (first.layers, first.notes, first.begin_loss)
    assert (again.best_step, again.progress) == (first.best_step, first.progress)


def test_memory_is_kept_where_it_changes_and_comes_back_for_every_step():
    """The chart said 0 B for all steps before a resume."""
    (step,) = (event for event in events(1) if event.event == "step")
    plan = PlanEvent("full", 3, 64, 1, 10, {"weights": 7}, "cpu")
    steps = [replace(step, step=n, memory=memory) for n, memory in ((1, {"weights": 7}), (2, {"weights": 9}))]
    history = History()
    history.add([plan, *steps, replace(steps[-1], step=3)])
    assert ["memory" in line for line in history.lines] == [True, False, True, False]
    (again,) = replayed_history(history.lines)
    assert [event.memory for event in again] == [{"weights": 7}, {"weights": 9}, {"weights": 9}]


def test_what_is_no_event_is_passed_over_and_what_was_no_number_is_none():
    step = next(event for event in events(1) if event.event == "step").to_json() | {"loss": None}
    lines = [{"event": "plan"}, {}, {"event": "step"}, {"event": "layers", "layers": [1], "step": 1}, step]
    ((only,),) = replayed_history(lines)
    assert math.isnan(only.loss) and only.step == 1
