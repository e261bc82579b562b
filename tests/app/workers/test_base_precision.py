"""The plan of a run: what it says about the base that is not trained."""

from __future__ import annotations

from dataclasses import asdict

import pytest

from app.values.training import RunRequest
from app.workers.open_device import OpenDevice
from app.workers.planning import plan_run
from app.workers.speeds import Speeds
from engine.model import layout
from engine.session.batches import HELD_OUT_BATCH
from engine.train.memory_fitting import Fit, run_estimate
from engine.train.options import TrainingOptions
from tests.app.state.program import make_tiny_base

OPTIONS = TrainingOptions(mode="lora", batch_size=2, sequence_length=32, rank=2)


@pytest.fixture
def bench(folder, no_starter, monkeypatch):
    monkeypatch.setattr(layout, "WIDENED_BYTES", 2**12)  # little against the weights, as in a large model
    one = OpenDevice(folder)
    one.choose("cpu", 1 << 30)
    yield one
    one.close()


def planned(bench, folder, base, **options):
    request = RunRequest("", asdict(OPTIONS.changed(**options)), base)
    return plan_run(bench, Speeds(folder), request)


def test_the_base_is_packed_where_float32_does_not_fit(bench, folder, repository):
    base = make_tiny_base(folder, repository)
    plan, _ = planned(bench, folder, base)
    assert plan.base_precision == "float32" and not plan.problem
    estimate = run_estimate(bench.store.config(base), bench.device, OPTIONS, "float32", None, HELD_OUT_BATCH)
    ceiling = sum(estimate(Fit(1, 2)).values()) - 1
    bench.choose("cpu", ceiling)
    plan, plans = planned(bench, folder, base)
    assert plan.base_precision in ("float16", "int8") and not plan.problem
    assert plan.memory_total <= ceiling and plan.memory["weights"] < estimate(Fit(1, 2))["weights"]
    assert plans["full"].base_precision == "float32"


def test_a_chosen_precision_is_planned_and_full_refuses_it_by_name(bench, folder, repository):
    base = make_tiny_base(folder, repository)
    plan, plans = planned(bench, folder, base, base_precision="int8")
    assert plan.base_precision == "int8"
    assert "full" in plans["full"].problem and "int8" in plans["full"].problem
    assert not plans["vocabulary"].problem
