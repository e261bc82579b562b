"""A small model with a tokenizer, a store, and the script that makes the export fixtures."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from engine.checkpoints.store.delta import make_delta
from engine.checkpoints.store.manifest import Facts
from engine.checkpoints.store.store import CheckpointStore
from tests.checkpoints.formats.gguf_samples import tokenizer_path  # noqa: F401  (a fixture)

SCRIPT = Path(__file__).parents[2] / "fixtures" / "make_export_check.py"


@pytest.fixture(scope="session")
def export_check():
    """tests/fixtures/make_export_check.py as a module."""
    spec = importlib.util.spec_from_file_location("make_export_check", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def tokenizer(export_check, tmp_path_factory):
    """The path of a tokenizer.json."""
    return export_check.small_tokenizer(tmp_path_factory.mktemp("tokenizer"))


@pytest.fixture(scope="session")
def config(export_check):
    return export_check.small_config()


@pytest.fixture(scope="session")
def parameters(export_check, config):
    return export_check.small_parameters(config, 0)


@pytest.fixture
def store(tmp_path):
    return CheckpointStore(tmp_path / "store")


@pytest.fixture
def base(store, config, parameters, tokenizer):
    """A whole checkpoint in the store."""
    facts = Facts(name="base", mode="base", metrics={"held_out_loss": 2.5}, run="r1")
    return store.save(facts, config=config, parameters=parameters, tokenizer=tokenizer)


@pytest.fixture
def deltas(store, base, config, parameters, export_check):
    """A WSLA and a LoRA checkpoint on it."""
    changed = {name: array + (0.25 if "x_proj" in name else 0) for name, array in parameters.items()}
    wsla = make_delta("wsla", config, changed)
    lora = make_delta("lora", config, parameters, export_check.small_adapters(config), 2.0)
    return {
        mode: store.save_delta(Facts(name=mode, mode=mode, run="r1"), base=base.id, delta=delta)
        for mode, delta in (("wsla", wsla), ("lora", lora))
    }
