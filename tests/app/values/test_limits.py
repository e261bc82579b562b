"""What a setting or a control of the app may be, the engine takes."""

from __future__ import annotations

from dataclasses import fields

import pytest

from app.data.settings_file import FIELDS
from app.state.completion import CompletionController
from app.state.settings import Settings
from app.values.limits import EngineOption
from app.window.complete.options_card import OptionsCard
from engine.generate.options import OPTIONS, SAMPLING, STOPS, SUGGESTION_STOPS, Sampling, Stops
from tests.app.played_jobs import PlayedJobs

OFFERED = [name for name, info in OPTIONS.items() if not info.advanced]


def taken_by_the_engine(name: str, value) -> bool:
    kind = Sampling if name in SAMPLING else Stops
    return getattr(kind(**{name: value}), name) == value


def test_the_table_has_every_option():
    assert list(SAMPLING) == [field.name for field in fields(Sampling)]
    assert list(STOPS) == [field.name for field in fields(Stops)]


@pytest.mark.parametrize("name", OFFERED)
def test_a_setting_has_the_engines_range_and_default(name):
    field = FIELDS[f"sampling_{name}"]
    assert field.limit == EngineOption(OPTIONS[name])
    assert field.default == getattr(Sampling() if name in SAMPLING else SUGGESTION_STOPS, name)


def test_the_engine_takes_both_ends_of_every_control(qapp, tmp_path):
    settings = Settings(tmp_path)
    card = OptionsCard(CompletionController(settings, PlayedJobs()), settings)
    assert set(card.rows) == set(OFFERED)
    for name, row in card.rows.items():
        ends = (False, True) if row.info.kind is bool else (row.control.minimum(), row.control.maximum())
        assert all(taken_by_the_engine(name, value) for value in ends)


def test_a_repetition_penalty_that_an_earlier_version_kept_is_forgotten(qapp, tmp_path):
    (tmp_path / "settings.json").write_text('{"sampling_repetition_penalty": 0.5}')
    assert Settings(tmp_path).value("sampling_repetition_penalty") == 1.0
