"""The time of a whole model from three that are cut from it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engine.model.architectures.reading import config_from
from engine.model.config import ModelConfig
from engine.model.shallow import LAYERS, MORE_TOKENS, TOKENS, cuts_of, stand_in_model

GIB = 2**30
DENSE = config_from(
    {
        "model_type": "llama",
        "hidden_size": 64,
        "num_hidden_layers": 30,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "intermediate_size": 96,
        "vocab_size": 100_000,
        "tie_word_embeddings": True,
    }
)
MAMBA = ModelConfig(hidden_size=32, num_hidden_layers=24, vocab_size=50_000)


def linear(config) -> float:
    """Seconds as they would be on a machine without noise."""
    return 0.5 + 0.25 * config.num_hidden_layers + 1e-4 * config.vocab_size


@pytest.mark.parametrize("config", [DENSE, MAMBA], ids=["dense", "mamba"])
def test_what_layers_and_tokens_add_is_told_apart(config):
    assert cuts_of(config, GIB).whole_seconds(linear) == pytest.approx(linear(config))


def test_every_cut_is_of_the_same_kind_and_width():
    cuts = cuts_of(DENSE, GIB)
    sizes = [(each.num_hidden_layers, each.vocab_size) for each in (cuts.small, cuts.deeper, cuts.wider)]
    assert sizes == [(1, TOKENS), (LAYERS, TOKENS), (1, MORE_TOKENS)] and cuts.layers == LAYERS
    names = {name for name in cuts.deeper.parameter_shapes() if "layers.0." in name}
    whole = DENSE.parameter_shapes()
    assert names and all(cuts.deeper.parameter_shapes()[name] == whole[name] for name in names)


def test_a_model_smaller_than_the_cuts_is_measured_as_it_is():
    tiny = replace(DENSE, num_hidden_layers=1, vocab_size=100)
    asked = []
    assert cuts_of(tiny, GIB).whole_seconds(lambda cut: asked.append(cut) or 2.0) == 2.0
    assert asked == [tiny]


def test_little_memory_means_fewer_layers_and_never_less_than_two():
    layer = 6 * (cuts_of(DENSE, GIB).deeper.parameter_count - cuts_of(DENSE, GIB).small.parameter_count) // (LAYERS - 1)
    assert cuts_of(DENSE, 3 * 6 * cuts_of(DENSE, GIB).deeper.parameter_count - layer).layers == LAYERS - 1
    assert cuts_of(DENSE, 1).layers == 2


def test_noise_cannot_make_a_layer_take_less_than_nothing():
    cuts = cuts_of(DENSE, GIB)
    assert cuts.whole_seconds(lambda cut: 1.0 if cut == cuts.small else 0.9) == 1.0


def disturbed(cuts, *factors: float):
    """A machine that is slow for a while: the measurements of the small model take so many times longer, in turn."""
    left = list(factors)

    def seconds_of(cut) -> float:
        return linear(cut) * (left.pop(0) if cut == cuts.small and left else 1.0)

    return seconds_of


def test_a_disturbance_does_not_count_if_one_of_two_measurements_is_free_of_it():
    cuts = cuts_of(DENSE, GIB)
    for factors in ((3.0, 1.0), (1.0, 3.0)):
        assert cuts.whole_seconds(disturbed(cuts, *factors)) == pytest.approx(linear(DENSE))


def test_what_cannot_be_is_measured_again_but_not_for_ever():
    """Five layers that take hardly longer than one: the one was disturbed."""
    cuts, asked = cuts_of(DENSE, GIB), []
    assert cuts.whole_seconds(disturbed(cuts, 2.2, 2.2)) == pytest.approx(linear(DENSE))
    cuts.whole_seconds(lambda cut: asked.append(cut) or 1.0)
    assert len(asked) == 3 * 4
    asked.clear()
    cuts.whole_seconds(lambda cut: asked.append(cut) or linear(cut))
    assert len(asked) == 4


def test_stand_in_weights_are_written_and_given_back(device):
    before = device.ledger.total
    for config in (cuts_of(DENSE, GIB).small, cuts_of(MAMBA, GIB).small):
        model = stand_in_model(config, device)
        for name, shape in config.parameter_shapes().items():
            assert model.parameters[name].shape == shape and np.all(model.parameters[name] != 0.0)
        assert np.isfinite(model.logits(np.arange(8)[None])).all()
        model.close()
    assert device.ledger.total == before
