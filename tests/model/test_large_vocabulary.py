"""Tables of the vocabulary that are larger than one binding lie in blocks of rows, and nothing else changes."""

import numpy as np
import pytest

import engine
from engine.devices.interface import Limits
from engine.errors import CodecoilError
from engine.model.step import AdamW
from tests.model.tiny import TINY, assert_close, batch, open_model, relative_error

QWEN = {"hidden_size": 256, "num_hidden_layers": 1, "vocab_size": 151_936}
WIDE = {"hidden_size": 16, "num_hidden_layers": 1, "vocab_size": 40_009}
NARROW_BINDING = Limits(max_binding_bytes=768 * 2**10, max_buffer_bytes=2**20)
EMBEDDING = "backbone.embeddings.weight"


def test_a_vocabulary_of_151936_on_portable_limits(cpu, webgpu):
    ids = np.array([[0, 151_935, 70_000, 3]])
    found = []
    for device in (cpu, webgpu):
        model = engine.create_model(QWEN, device=device)
        blocks = model.network.parameters[EMBEDDING].blocks
        logits, (loss, gradients) = model.logits(ids[:, :-1]), model.loss_and_gradients(ids)
        model.close()
        found.append((len(blocks), logits, loss, gradients))
    (whole, cpu_logits, cpu_loss, cpu_gradients), (parts, logits, loss, gradients) = found
    assert (whole, parts) == (1, 2)
    assert relative_error(logits, cpu_logits) < 1e-4
    assert loss == pytest.approx(cpu_loss, rel=1e-5)
    assert_close(gradients, cpu_gradients, 1e-3)


def narrow(device, monkeypatch):
    monkeypatch.setattr(device, "limits", NARROW_BINDING)


@pytest.mark.parametrize("tied", [True, False])
def test_row_blocks_give_what_one_block_gives(tied, device, monkeypatch):
    config = WIDE | {"tie_word_embeddings": tied}
    # The rows at both sides of every border, the first and the last
    ids = np.array([[0, 12_287, 12_288, 24_575, 24_576], [36_863, 36_864, 40_008, 1, 12_288]])
    results = []
    for blocks in (1, 4):
        if blocks > 1:
            narrow(device, monkeypatch)
        with open_model(device, config) as model:
            parameters = model.network.parameters.values()
            slabs = {block.slab for parameter in parameters for block in parameter.blocks}
            assert len(model.network.parameters[EMBEDDING].blocks) == blocks
            assert max(slab.nbytes for slab in slabs) <= device.limits.max_binding_bytes
            before = dict(model.parameters)
            logits, (loss, gradients) = model.logits(ids), model.loss_and_gradients(ids)
            step = model.training_step("full", 2, 4)
            result = step.run(ids, AdamW(learning_rate=1e-2, epsilon=1e-3), 1)()
            step.close()
            moved = {name: array - before[name] for name, array in model.parameters.items()}
            results.append((logits, loss, gradients, result, moved))
    (logits, loss, gradients, result, moved), in_blocks = results
    assert relative_error(in_blocks[0], logits) < 1e-5
    assert in_blocks[1] == pytest.approx(loss, rel=1e-6)
    assert_close(in_blocks[2], gradients, 1e-4)
    assert in_blocks[3].gradient_norm == pytest.approx(result.gradient_norm, rel=1e-5)
    assert in_blocks[3].applied
    assert_close(in_blocks[4], moved, 1e-3)


def test_logits_in_chunks_give_what_they_give_at_once(device, monkeypatch):
    ids = np.random.default_rng(1).integers(0, WIDE["vocab_size"], (2, 51))
    found = []
    for rows in (100, 64):
        monkeypatch.setattr(device, "logits_bytes", 4 * rows * WIDE["vocab_size"], raising=False)
        with open_model(device, WIDE) as model:
            found.append((model.logits(ids), *model.loss_and_gradients(ids)))
    (logits, loss, gradients), chunked = found
    assert relative_error(chunked[0], logits) < 1e-6
    assert chunked[1] == pytest.approx(loss, rel=1e-6)
    assert_close(chunked[2], gradients, 1e-5)


def test_a_table_in_blocks_is_saved_and_loaded_whole(device, monkeypatch, tmp_path):
    narrow(device, monkeypatch)
    with open_model(device, WIDE) as model:
        model.save(tmp_path)
        table = model.parameters[EMBEDDING]
    assert table.shape == (WIDE["vocab_size"], WIDE["hidden_size"])
    monkeypatch.undo()
    whole = engine.load_model(tmp_path, device)
    np.testing.assert_array_equal(whole.parameters[EMBEDDING], table)
    whole.close()


def test_a_matrix_that_is_larger_than_a_binding_is_a_typed_error(device, monkeypatch):
    """Only tables of the vocabulary can be cut."""
    monkeypatch.setattr(device, "limits", Limits(4096, 8192))
    held = device.ledger.total
    with pytest.raises(CodecoilError, match="in_proj"):
        engine.create_model(TINY | {"hidden_size": 40}, device=device)
    assert device.ledger.total == held


def test_a_batch_that_is_larger_than_a_binding_is_a_typed_error(device, monkeypatch):
    narrow(device, monkeypatch)
    with open_model(device) as model:
        held = device.ledger.total
        with pytest.raises(CodecoilError, match="smaller micro-batch or a shorter sequence"):
            model.logits(batch(4, 4000))
        with pytest.raises(CodecoilError, match="smaller micro-batch or a shorter sequence"):
            model.loss_and_gradients(batch(4, 4000))
        with pytest.raises(CodecoilError, match="smaller micro-batch or a shorter sequence"):
            model.training_step("full", 4, 4000)
        assert device.ledger.total == held
