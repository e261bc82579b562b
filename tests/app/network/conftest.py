"""A stand-in of the hub with one tiny model, on loopback."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.network.base_models import BASE_MODELS, base_model
from engine.checkpoints.formats.exporting import export_checkpoint
from engine.checkpoints.store.store import CheckpointStore
from engine.corpus.tokens.tokenizer import Tokenizer
from tests.app.network.hub import Hub, serve
from tests.session.small_repository import save_base


@pytest.fixture
def folder(tmp_path):
    """A tiny model as a folder in Hugging Face format."""
    elsewhere, out = tmp_path / "elsewhere", tmp_path / "tiny-hf"
    elsewhere.mkdir()
    made = save_base(elsewhere, Tokenizer.train(["def price(x):\n    return x\n" * 20], 300), "tiny")
    export_checkpoint(CheckpointStore(elsewhere / "checkpoints"), made.id, "hf", out, None, False)
    return out


@pytest.fixture
def tiny(monkeypatch, folder):
    """The list with one more entry: that model."""
    size = (folder / "model.safetensors").stat().st_size
    model = replace(
        base_model("mamba-130m"), name="tiny-1m", repository="somebody/tiny-1m-hf", parameters=-(-size // 4)
    )
    monkeypatch.setattr("app.network.base_models.BASE_MODELS", (*BASE_MODELS, model))
    return model


@pytest.fixture
def hub(folder, tiny, monkeypatch):
    """Serves it, with files beside that nobody wants."""
    files = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
    hub = Hub(tiny.repository, files | {"pytorch_model.bin": b"pickled", "notes/config.json": b"{}"})
    end = serve(hub)
    monkeypatch.setenv("HF_ENDPOINT", hub.address)
    yield hub
    end()
