"""Token ids at the edges: refused with a typed error that says what is wrong, or right on both devices."""

import numpy as np
import pytest

import engine
from engine.devices import Device
from engine.errors import InputError
from tests.model.tiny import TINY, assert_close, batch, open_model, relative_error

V = TINY["vocab_size"]
UNUSABLE = [
    ([[0, V]], f"Token id {V} is out of range.*0 to {V - 1}"),
    ([[0, 2**40]], "out of range"),
    ([[3, -1]], "Token id -1 is out of range"),
    ([[1.0, 2.0]], "whole numbers"),
    ([[True, False]], "whole numbers"),
    ([["a", "b"]], "whole numbers"),
    (np.zeros((0, 4), int), r"shape \(0, 4\)"),
    (np.zeros((2, 0), int), r"shape \(2, 0\)"),
    ([], "shape"),
    ([1, 2, 3], r"shape \(3,\)"),
    (np.zeros((1, 2, 3), int), r"shape \(1, 2, 3\)"),
    (5, r"shape \(\)"),
    ([[1, 2], [3]], "shape"),
    (None, "shape"),
]


@pytest.mark.parametrize(("ids", "match"), UNUSABLE, ids=[str(ids)[:30] for ids, _ in UNUSABLE])
def test_unusable_ids_are_refused(ids, match, device):
    with open_model(device) as model:
        held = device.ledger.total
        with pytest.raises(InputError, match=match):
            model.logits(ids)
        with pytest.raises(InputError, match=match):
            model.loss_and_gradients(ids)
        assert device.ledger.total == held


def test_a_loss_needs_a_token_to_predict(device):
    with open_model(device) as model:
        assert model.logits([[7]]).shape == (1, 1, V)
        with pytest.raises(InputError, match="length >= 2"):
            model.loss_and_gradients([[7]])


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64, np.uint64])
def test_every_whole_number_type_is_taken(dtype, device):
    with open_model(device) as model:
        ids = batch(2, 5)
        np.testing.assert_array_equal(model.logits(ids.astype(dtype)), model.logits(ids))
        np.testing.assert_array_equal(model.logits(ids.tolist()), model.logits(ids))
        np.testing.assert_array_equal(model.logits(np.asfortranarray(ids)[:, ::-1]), model.logits(ids[:, ::-1].copy()))


@pytest.mark.parametrize(
    "options",
    [
        {"vocab_size": 1},
        {"hidden_size": 1, "expand": 1},
        {"num_hidden_layers": 1, "state_size": 1, "conv_kernel": 1},
        {"state_size": 33},
        {"state_size": 128},
        {"time_step_rank": 50},
        {"intermediate_size": 31},
        {"conv_kernel": 2},
        {"conv_kernel": 7},
    ],
    ids=str,
)
def test_sizes_at_the_edges_agree_on_both_devices(options, cpu, webgpu):
    config = TINY | options
    found = []
    for device in (cpu, webgpu):
        with open_model(device, config) as model:
            ids = batch(2, 8, config["vocab_size"])
            logits = model.logits(ids)
            assert np.isfinite(logits).all()
            found.append((logits, model.loss_and_gradients(ids)[1]))
    assert relative_error(found[1][0], found[0][0]) < 1e-4
    # One entry in the vocabulary: nothing to learn, and gradients that are zero but for rounding
    if config["vocab_size"] > 1:
        assert_close(found[1][1], found[0][1], 1e-3)


def test_the_logits_of_a_token_do_not_depend_on_what_comes_after_or_beside_it(device):
    with open_model(device) as model:
        ids = batch(3, 70)
        whole = model.logits(ids)
        assert relative_error(model.logits(ids[:, :40]), whole[:, :40]) < 1e-5
        assert relative_error(model.logits(ids[1:2]), whole[1:2]) < 1e-5


def test_programs_of_many_shapes_make_room_for_each_other(device):
    """Only a few compiled shapes are kept: a fifth takes the place of one, and all give the same as at first."""
    with open_model(device) as model:
        first = {l: model.logits(batch(1, l)) for l in range(1, 5)}
        held = device.ledger.total
        for l in range(4, 0, -1):
            np.testing.assert_array_equal(model.logits(batch(1, l)), first[l])
        assert device.ledger.total == held
        model.logits(batch(1, 30))
        for l in range(1, 5):
            np.testing.assert_array_equal(model.logits(batch(1, l)), first[l])
        assert device.ledger.total == held


def test_a_model_is_made_from_a_config_or_a_dict_and_a_seed(device: Device):
    config = engine.ModelConfig(**TINY)
    models = [engine.create_model(c, s, device) for c, s in ((config, 3), (TINY, 3), (TINY, 4))]
    arrays = [dict(model.parameters) for model in models]
    for model in models:
        model.close()
    assert list(arrays[0]) == list(config.parameter_shapes())
    for name in arrays[0]:
        np.testing.assert_array_equal(arrays[0][name], arrays[1][name])
    assert (arrays[0]["backbone.embeddings.weight"] != arrays[2]["backbone.embeddings.weight"]).any()


def test_a_parameter_can_be_read_and_written_by_name_only_whole(device):
    with open_model(device) as model:
        name = "backbone.norm_f.weight"
        copy = model.parameters[name]
        copy[:] = 0
        assert (model.parameters[name] != 0).any()
        model.parameters[name] = np.arange(20.0)
        np.testing.assert_array_equal(model.parameters[name], np.arange(20, dtype=np.float32))
        with pytest.raises(InputError, match=r"shape \(20,\), not \(19,\)"):
            model.parameters[name] = np.ones(19)
        with pytest.raises(InputError):
            del model.parameters[name]
        assert len(model.parameters) == len(model.config.parameter_shapes())


def test_a_model_opens_a_device_by_name_and_closes_it_with_itself(tmp_path):
    model = engine.create_model(TINY, device="cpu")
    device = model.device
    model.save(tmp_path)
    model.close()
    assert device.ledger.total == 0 and model.owned_device is None
    loaded = engine.load_model(tmp_path, device="cpu")
    assert loaded.logits([[1, 2]]).shape == (1, 2, TINY["vocab_size"])
    loaded.close()
