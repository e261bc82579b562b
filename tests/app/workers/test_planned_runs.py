"""What the training worker plans: a time from a step that is measured now, and how a run on changes differs."""

from __future__ import annotations

import pytest

from app.values.repository import ChangesSince
from app.values.training import SpeedBasis
from app.workers.speeds import Speed, Speeds
from engine.checkpoints.store.store import CheckpointStore, Facts
from engine.errors import ConfigError
from engine.session import SessionPlan


def test_the_time_of_a_plan_is_measured_and_not_what_earlier_runs_took(program, repository, tiny, folder, monkeypatch):
    monkeypatch.setattr("engine.train.trial.trial_speed", lambda *_, **__: 100.0)
    one = program()
    parameters = CheckpointStore(folder / "checkpoints").config(tiny).parameter_count
    for device in one.state.engine.found.devices:
        Speeds(folder).keep(Speed(device.description, "full", parameters, 1e9))
    training = one.state.training
    one.open(repository)
    one.small_options(tiny)
    one.until(lambda: not training.planning and training.plan is not None)
    assert training.plan.speed_basis is SpeedBasis.MEASURED
    assert training.plan.tokens_per_second == pytest.approx(100.0)
    assert training.plan.minutes * 60 > 8 * 2 * 32 / 100  # steps, rows and tokens of each; measuring comes on top


def test_the_window_adapts_to_changes_as_the_command_line_does(program, repository, tiny, folder, monkeypatch):
    """It made four passes over them on the command line and three in the window."""
    plans: list[SessionPlan] = []

    def refuse(plan, *_, **__):
        plans.append(plan)
        raise ConfigError("Seen enough.")

    monkeypatch.setattr("engine.train.options.PASSES_OVER_CHANGES", 7)
    monkeypatch.setattr("engine.session.Session", refuse)
    store = CheckpointStore(folder / "checkpoints")
    parts = {"config": store.config(tiny), "parameters": store.load_parameters(tiny)}
    adapted = store.save(Facts("adapted", "lora"), **parts, tokenizer=store.tokenizer_path(tiny))
    one = program()
    training = one.state.training
    one.open(repository)
    one.small_options(tiny)
    training.on_repository(str(repository), ChangesSince(adapted.id, "adapted", 1, 3, ("shelf_1.py",)))
    training.adapt_to_changes()
    one.until(lambda: plans)
    (plan,) = plans
    assert plan.options == training.options.for_changes("lora") and plan.options.epochs == 7
    assert (plan.changed_since, plan.changed) == (adapted.id, ("shelf_1.py",))
    one.until(lambda: not training.active)
