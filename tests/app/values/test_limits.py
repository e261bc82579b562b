"""What a setting may be, the engine takes."""

from __future__ import annotations

from dataclasses import fields

import pytest

from app.state.settings import Settings
from app.values.limits import COMPLETION_LIMITS, Number
from app.window.complete.options_card import CONTROLS
from engine.generate.sampling import Sampling
from engine.generate.stops import Stops

ENGINE = {field.name: kind for kind in (Sampling, Stops) for field in fields(kind)}
NUMBERS = [name for name, limit in COMPLETION_LIMITS.items() if isinstance(limit, Number)]


@pytest.mark.parametrize("name", NUMBERS)
def test_the_engine_takes_both_ends_of_every_range(name):
    for value in (COMPLETION_LIMITS[name].low, COMPLETION_LIMITS[name].high):
        ENGINE[name](**{name: value})


@pytest.mark.parametrize("control", CONTROLS, ids=lambda control: control.name)
def test_every_control_stays_within_what_may_be_set(control):
    limit = COMPLETION_LIMITS[control.name]
    if isinstance(limit, Number):
        assert limit.low <= control.least < control.most <= limit.high


def test_a_repetition_penalty_that_an_earlier_version_kept_is_forgotten(qapp, tmp_path):
    (tmp_path / "settings.json").write_text('{"sampling_repetition_penalty": 0.5}')
    assert Settings(tmp_path).value("sampling_repetition_penalty") == 1.0
