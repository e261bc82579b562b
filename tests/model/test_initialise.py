"""First weights as the original Mamba code draws them."""

import math

import numpy as np
import pytest

from engine.model.config import ModelConfig
from engine.model.initialise import initial_parameters

CONFIG = ModelConfig(hidden_size=96, num_hidden_layers=4, vocab_size=500, use_bias=True, tie_word_embeddings=False)


@pytest.fixture(scope="module")
def weights():
    return dict(initial_parameters(CONFIG, seed=5))


def assert_uniform(array, bound):
    assert np.abs(array).max() <= bound
    assert np.abs(array).max() > 0.9 * bound
    assert array.std() == pytest.approx(bound / math.sqrt(3), rel=0.1)


def test_every_parameter_is_there_in_its_shape_as_float32(weights):
    assert {name: array.shape for name, array in weights.items()} == CONFIG.parameter_shapes()
    assert {array.dtype for array in weights.values()} == {np.dtype(np.float32)}


def test_distributions(weights):
    mixer, d, m = "backbone.layers.2.mixer.", CONFIG.intermediate_size, CONFIG.hidden_size
    for table in ("backbone.embeddings.weight", "lm_head.weight"):
        assert weights[table].std() == pytest.approx(0.02, rel=0.05)
    assert_uniform(weights[mixer + "in_proj.weight"], m**-0.5)
    assert_uniform(weights[mixer + "in_proj.bias"], m**-0.5)
    assert_uniform(weights[mixer + "x_proj.weight"], d**-0.5)
    assert_uniform(weights[mixer + "conv1d.weight"], 0.5)
    assert_uniform(weights[mixer + "conv1d.bias"], 0.5)
    assert_uniform(weights[mixer + "dt_proj.weight"], CONFIG.time_step_rank**-0.5)
    assert_uniform(weights[mixer + "out_proj.weight"], d**-0.5 / math.sqrt(CONFIG.num_hidden_layers))
    for ones in ("backbone.norm_f.weight", "backbone.layers.2.norm.weight", mixer + "D"):
        assert (weights[ones] == 1).all()


def test_the_state_decays_at_one_to_n_and_the_time_steps_lie_in_their_range(weights):
    mixer = "backbone.layers.0.mixer."
    np.testing.assert_allclose(-np.exp(weights[mixer + "A_log"][7]), -np.arange(1, CONFIG.state_size + 1), rtol=1e-6)
    steps = np.log1p(np.exp(weights[mixer + "dt_proj.bias"].astype(np.float64)))
    assert steps.min() >= 0.99 * CONFIG.time_step_min
    assert steps.max() <= 1.01 * CONFIG.time_step_max
    logarithms = np.log(steps)
    assert np.median(logarithms) == pytest.approx(math.log(0.01), abs=0.5)


def test_layers_are_drawn_apart(weights):
    a, b = (weights[f"backbone.layers.{i}.mixer.in_proj.weight"] for i in (0, 1))
    assert abs(np.corrcoef(a.ravel(), b.ravel())[0, 1]) < 0.05
