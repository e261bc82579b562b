"""Lines of a history are the events that they were."""

from __future__ import annotations

import json
import math

from app.state.run_history import RunHistory
from app.workers.replayed_history import MOST, replayed_history
from engine.session.results import without_memory
from tests.window.adapt.desk import events, layers, note


def test_a_plot_cannot_tell_them_from_the_first_telling():
    told = [*events(1200, every=100), layers(), note(40, "It learns.")]
    lines = [json.loads(json.dumps(without_memory(event.to_json()))) for event in told]
    parts = [*replayed_history(lines)]
    assert max(map(len, parts)) == MOST and sum(map(len, parts)) == len(told)
    first, again = RunHistory(), RunHistory()
    for event in told:
        first.add(event)
    for event in (event for part in parts for event in part):
        again.add(event)
    for name in ("step", "loss", "rate", "gradient_norm", "tokens_per_second", "evaluation_step", "evaluation_loss"):
        assert list(getattr(again, name)) == list(getattr(first, name)), name
    assert (again.layers, again.notes, again.begin_loss) == (first.layers, first.notes, first.begin_loss)
    assert (again.best_step, again.progress) == (first.best_step, first.progress)


def test_what_is_no_event_is_passed_over_and_what_was_no_number_is_none():
    step = next(event for event in events(1) if event.event == "step").to_json() | {"loss": None}
    lines = [{"event": "plan"}, {}, {"event": "step"}, {"event": "layers", "layers": [1], "step": 1}, step]
    ((only,),) = replayed_history(lines)
    assert math.isnan(only.loss) and only.step == 1
