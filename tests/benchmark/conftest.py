"""The devices that these tests run on, and programs small enough for them."""

from __future__ import annotations

import pytest

from engine.benchmark.workloads import Decoding, Training
from engine.devices.sample_parts import Sizes
from engine.model.architectures.dense import DenseConfig
from engine.model.architectures.mamba2 import Mamba2Config
from engine.model.config import ModelConfig
from tests.devices.opened import *  # noqa: F403  (fixtures)

TINY = ModelConfig(hidden_size=16, num_hidden_layers=3, state_size=4, vocab_size=40)
TINY_MAMBA2 = Mamba2Config(hidden_size=16, num_hidden_layers=3, head_dim=8, state_size=4, vocab_size=40)
TINY_LLAMA = DenseConfig(
    "llama",
    hidden_size=16,
    num_hidden_layers=3,
    vocab_size=40,
    num_attention_heads=4,
    num_key_value_heads=2,
    head_dim=4,
    intermediate_size=24,
)
WORKLOADS = (Training("tiny", TINY, 2, 8), Decoding("tiny", TINY), Training("tiny llama", TINY_LLAMA, 1, 8))
SIZES = Sizes(b=1, l=5, m=8, d=8, n=4, r=2, k=2, v=20)


@pytest.fixture
def hurried(monkeypatch):
    """Every call is timed once, whatever that says about its time."""
    monkeypatch.setattr("engine.benchmark.timing.MOST_REPEATS", 2)
    monkeypatch.setattr("engine.benchmark.timing.LONG", 0.0)
    monkeypatch.setattr("engine.benchmark.run.SPEED_SECONDS", 0.01)
    monkeypatch.setattr("engine.session.machine_speed.SECONDS", 0.01)
    monkeypatch.setattr("engine.session.machine_speed.CACHE_BYTES", 1 << 16)
    monkeypatch.setattr("engine.model.shallow.ROUNDS", 1)
    for device in ("cpu", "webgpu"):
        monkeypatch.setattr(f"engine.devices.{device}.peaks.RUNS", 1)
    monkeypatch.setattr("engine.devices.cpu.peaks.COPY_BYTES", 1 << 16)
    monkeypatch.setattr("engine.devices.cpu.peaks.SIDE", 64)
    monkeypatch.setattr("engine.devices.webgpu.peaks.COPY_BYTES", {True: 1 << 16, False: 1 << 16})
    monkeypatch.setattr("engine.devices.webgpu.peaks.ENOUGH", 0.0)
