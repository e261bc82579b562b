"""What a GPU runs, on whatever adapter there is: its variants of the kernels together, in a whole step."""

from dataclasses import replace

import pytest

from tests.model.tiny import ODD, TINY, assert_close, batch, open_model

WIDER = TINY | {"hidden_size": 48, "vocab_size": 300}


@pytest.fixture
def as_gpu(webgpu, monkeypatch):
    """The device, taken for one that is no software adapter."""
    monkeypatch.setattr(webgpu, "traits", replace(webgpu.traits, software=False, matmul_variants={}))
    monkeypatch.setattr(webgpu, "logits_bytes", 2**20)
    return webgpu


@pytest.mark.parametrize("config", [ODD, WIDER], ids=["odd", "wider"])
def test_gradients(as_gpu, cpu, config):
    """Long enough for the chunks of the scan, and for sums that are shared out among workgroups."""
    ids = batch(2, 301, config["vocab_size"])
    found = []
    for device in (as_gpu, cpu):
        with open_model(device, config) as model:
            found.append(model.loss_and_gradients(ids))
    (loss, gradients), (cpu_loss, cpu_gradients) = found
    assert loss == pytest.approx(cpu_loss, rel=1e-5)
    assert_close(gradients, cpu_gradients, 1e-3)
    assert any("add_parts" in key[0] for key in as_gpu.pipelines._pipelines)
