"""Layers that are computed twice: the same bits, less memory, and only as much work more as it must be."""

from collections import Counter
from itertools import pairwise

import pytest

from engine.errors import InputError
from engine.graph.tensor import Kind
from engine.model.blueprint import Blueprint, estimate_training
from engine.model.config import ModelConfig
from engine.model.step import AdamW, step_program
from tests.model.test_adapters import randomise
from tests.model.tiny import ODD, TINY, batch, open_model, same_bytes

MODES = ("full", "wsla", "lora", "vocabulary")
TOKENS = [1, 2, 3, 30, 42]
THREE = {"num_hidden_layers": 3}


@pytest.mark.parametrize("config", [TINY | THREE, ODD | THREE], ids=["tied", "odd"])
@pytest.mark.parametrize("mode", MODES)
def test_gradients_are_the_same_bits(mode, config, device):
    with open_model(device, config) as model:
        model.attach_adapters(rank=3)
        randomise(model)
        ids = batch(2, 67, config["vocab_size"])
        loss, gradients = model.loss_and_gradients(ids, mode, token_ids=TOKENS)
        for layers in (1, 3):
            again = model.loss_and_gradients(ids, mode, token_ids=TOKENS, recompute=layers)
            assert again[0] == loss
            assert same_bytes(again[1], gradients)


def test_training_is_the_same(device):
    found = []
    for recompute in (0, 2):
        with open_model(device) as model:
            step = model.training_step("full", 1, 12, micro_batches=2, recompute=recompute)
            results = [
                step.run(batch(2, 13, seed=n), AdamW(learning_rate=1e-2), n, insight=n == 2)() for n in (1, 2, 3)
            ]
            found.append((results, dict(model.parameters)))
            step.close()
    assert found[0][0] == found[1][0]
    assert same_bytes(found[0][1], found[1][1])


@pytest.mark.parametrize("mode", MODES)
def test_each_layer_more_saves_its_activations(mode, device):
    """All but one: the layer whose backward is under way has its activations in any case."""
    config = ModelConfig(hidden_size=64, num_hidden_layers=6, vocab_size=512)
    estimates = [
        estimate_training(config, device, mode, 4, 256, token_ids=TOKENS, recompute=layers) for layers in range(7)
    ]
    totals = [sum(estimate.values()) for estimate in estimates]
    t, d = 4 * 256, config.intermediate_size
    kept = 4 * t * d * 4  # at least xz (twice d), u and y, or as much in other tensors
    assert all(one - other > kept for one, other in pairwise(totals[:6]))
    assert totals[6] <= totals[5]
    assert estimates[5][Kind.ACTIVATIONS] < 0.35 * estimates[0][Kind.ACTIVATIONS]


def test_what_the_backward_does_not_need_is_not_computed_again(cpu):
    blueprint = Blueprint(ModelConfig(hidden_size=64, num_hidden_layers=3, vocab_size=100), cpu)
    programs = [
        step_program(blueprint.network, cpu, blueprint.trained_set("full"), 1, 64, recompute=layers)
        for layers in (0, 2)
    ]
    once, twice = (Counter(call.kernel for call in program.calls) for program in programs)
    again = {"rmsnorm": 2, "matmul_nt": 6, "causal_conv_silu": 2, "scan_coefficients": 2, "selective_scan": 2}
    assert twice - once == Counter(
        again
    )  # of four products a layer (in, x, dt, out) the last is left out, with its gate
    assert once - twice == Counter()


@pytest.mark.parametrize("layers", [-1, 3, 1.0, True, None])
def test_a_number_of_layers_that_cannot_be_is_refused(layers, cpu):
    with open_model(cpu) as model:
        held = cpu.ledger.total
        for ask in (model.training_step, model.estimate):
            with pytest.raises(InputError, match=r"layers to recompute.*0 to 2"):
                ask("full", 1, 8, recompute=layers)
        assert cpu.ledger.total == held
