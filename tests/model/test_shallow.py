"""The time of a whole model from three that are cut from it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from engine.model.architectures.own import OwnConfig
from engine.model.architectures.reading import config_from
from engine.model.blocks.attention import Attention
from engine.model.blocks.gated_mlp import GatedMlp
from engine.model.blocks.mamba1 import Mamba1
from engine.model.blocks.mamba2 import Mamba2
from engine.model.blocks.mixture import Mixture
from engine.model.config import ModelConfig
from engine.model.shallow import LAYERS, MORE_TOKENS, TOKENS, cuts_of, stand_in_model
from engine.model.step import AdamW

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
GRANITE_KEYS = {
    "model_type": "granitemoehybrid", "hidden_size": 32, "num_hidden_layers": 32, "num_attention_heads": 4,
    "num_key_value_heads": 2, "shared_intermediate_size": 48, "vocab_size": 50_000, "tie_word_embeddings": True,
    "mamba_n_heads": 4, "mamba_d_head": 16, "mamba_d_state": 8, "mamba_expand": 2, "num_local_experts": 0,
    "layer_types": ["attention" if layer in (10, 13, 17, 27) else "mamba" for layer in range(32)],
}  # fmt: skip
GRANITE = config_from(GRANITE_KEYS)
MIXTURE = config_from(
    GRANITE_KEYS | {"num_local_experts": 12, "num_experts_per_tok": 2, "intermediate_size": 16, "vocab_size": 5000}
)
OWN = OwnConfig(num_hidden_layers=9, layer_types=("mamba2", "attention", "mamba", "mamba2"), hidden_size=32, head_dim=8)
CONFIGS = {"dense": DENSE, "mamba": MAMBA, "granite-h": GRANITE, "mixture": MIXTURE, "own": OWN}
LAYER_SECONDS = {Attention: 3.0, Mamba2: 0.25, Mamba1: 1.0, GatedMlp: 0.125, Mixture: 0.5}


def linear(config) -> float:
    """Seconds as they would be on a machine without noise."""
    layers = sum(LAYER_SECONDS[type(block)] for _, _, block in config.layers())
    return 0.5 + layers + 1e-4 * config.vocab_size


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_what_layers_of_each_kind_and_tokens_add_is_told_apart(config):
    assert cuts_of(config, GIB).whole_seconds(linear) == pytest.approx(linear(config))


def test_a_hybrid_is_measured_on_layers_of_either_kind():
    cuts = cuts_of(GRANITE, GIB)
    assert [each.config.layer_types for each in cuts.deeper] == [("mamba",) * 5, ("mamba",) + ("attention",) * 4]
    assert cuts.small.layer_types == ("mamba",) and cuts.layers == 9
    whole = GRANITE.parameter_shapes()
    wanted = {name.replace("layers.10.", "layers.1."): shape for name, shape in whole.items() if "layers.10." in name}
    attending = cuts.deeper[1].config.parameter_shapes()
    assert wanted and {name: attending[name] for name in wanted} == wanted


def test_a_kind_that_occurs_once_is_measured_once():
    config = config_from(GRANITE_KEYS | {"layer_types": ["attention"] + ["mamba"] * 31})
    assert [(each.more, each.left) for each in cuts_of(config, GIB).deeper] == [(4, 30), (1, 1)]


def test_tokens_of_a_stand_in_mixture_spread_over_its_experts(device):
    """If all went to the same two, a step would read two experts' weights instead of twelve."""
    model = stand_in_model(cuts_of(MIXTURE, GIB).deeper[0].config, device)
    try:
        step = model.training_step("full", 1, 128)
        ids = np.random.default_rng(0).integers(0, TOKENS, (1, 129))
        layers = step.run(ids, AdamW(learning_rate=0.0), 1, insight=True)().layers
        step.close()
    finally:
        model.close()
    assert len(layers) == LAYERS
    for layer in layers:
        assert np.count_nonzero(layer.expert_load) >= 10 and max(layer.expert_load) < 0.5


def test_every_cut_is_of_the_same_kind_and_width():
    cuts = cuts_of(DENSE, GIB)
    (deeper,) = (each.config for each in cuts.deeper)
    sizes = [(each.num_hidden_layers, each.vocab_size) for each in (cuts.small, deeper, cuts.wider)]
    assert sizes == [(1, TOKENS), (LAYERS, TOKENS), (1, MORE_TOKENS)] and cuts.layers == LAYERS
    names = {name for name in deeper.parameter_shapes() if "layers.0." in name}
    whole = DENSE.parameter_shapes()
    assert names and all(deeper.parameter_shapes()[name] == whole[name] for name in names)


def test_a_model_smaller_than_the_cuts_is_measured_as_it_is():
    tiny = replace(DENSE, num_hidden_layers=1, vocab_size=100)
    asked = []
    assert cuts_of(tiny, GIB).whole_seconds(lambda cut: asked.append(cut) or 2.0) == 2.0
    assert asked == [tiny]


def deepest(config):
    return cuts_of(config, GIB).deeper[0].config


def test_little_memory_means_fewer_layers_and_never_less_than_two():
    small, deeper = (6 * each.parameter_count for each in (cuts_of(DENSE, GIB).small, deepest(DENSE)))
    assert cuts_of(DENSE, 3 * deeper - (deeper - small) // (LAYERS - 1)).layers == LAYERS - 1
    assert [each.more for each in cuts_of(GRANITE, 1).deeper] == [1, 1]
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
    for config in (cuts_of(DENSE, GIB).small, cuts_of(MAMBA, GIB).small, deepest(MIXTURE)):
        model = stand_in_model(config, device)
        for name, shape in config.parameter_shapes().items():
            assert model.parameters[name].shape == shape and np.all(model.parameters[name] != 0.0)
        assert np.isfinite(model.logits(np.arange(8)[None])).all()
        model.close()
    assert device.ledger.total == before
