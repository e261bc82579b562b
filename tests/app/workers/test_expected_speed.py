"""The first guess of a machine that has never trained."""

from types import SimpleNamespace

import pytest

from app.workers import expected_speed as module
from engine.model.config import ModelConfig

SMALL = ModelConfig(hidden_size=64, num_hidden_layers=2, vocab_size=512)


def test_the_products_of_a_token_are_those_of_a_step():
    layer = 64 * 256 + 128 * (4 + 32) + 4 * 128 + 128 * 64  # in_proj, x_proj, dt_proj, out_proj
    assert module.products_of_a_token(SMALL) == 6 * (2 * layer + 512 * 64)


def test_it_follows_the_threads_and_the_size_of_the_model(monkeypatch):
    monkeypatch.setattr(module, "products_per_second", lambda: 1e9)
    one, two = (module.expected_speed(SMALL, SimpleNamespace(threads=count)) for count in (1, 2))
    assert two == pytest.approx(2 * one) and one == pytest.approx(1e9 / module.products_of_a_token(SMALL) / 2.1)


def test_of_a_gpu_nothing_is_known():
    assert module.expected_speed(SMALL, SimpleNamespace(description="a GPU")) == 0.0


def test_products_are_really_measured():
    module.products_per_second.cache_clear()
    assert 1e6 < module.products_per_second() < 1e14
