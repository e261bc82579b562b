"""Mamba-2 and its hybrids as Hugging Face folders: what transformers wrote comes back, keys and tensors."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from engine.checkpoints.formats.hugging_face import read_folder, write_folder
from tests.checkpoints.formats.gguf_samples import MODELS, model

FIXTURES = Path(__file__).parents[2] / "fixtures"
UNSAID = {"time_step_limit": [0.0, {"__float__": "Infinity"}]}  # transformers takes it for granted; it is no JSON
FOLDERS = sorted(folder for kind in ("mamba2", "mixture") for folder in (FIXTURES / kind).iterdir())
KINDS = [name for name in MODELS if name.startswith(("mamba2", "granitemoehybrid", "falcon_h1"))]


def keys_of(folder: Path) -> dict:
    keys = json.loads((folder / "config.json").read_text())
    return {key: value for key, value in keys.items() if UNSAID.get(key) != value}


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_folder_that_transformers_wrote_is_written_as_it_was(tmp_path, folder):
    imported = read_folder(folder)
    write_folder(tmp_path / "out", imported.config, imported.parameters)
    before, after = keys_of(folder), keys_of(tmp_path / "out")
    assert {key: after.get(key) for key in before} == before
    stored, written = (load_file(place / "model.safetensors") for place in (folder, tmp_path / "out"))
    assert stored.keys() == written.keys()
    for name, array in stored.items():
        assert np.array_equal(written[name], array), name


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", KINDS)
def test_a_folder_gives_the_model_back(tmp_path, name, precision):
    config, parameters = model(name)
    write_folder(tmp_path / "out", config, parameters, precision=precision)
    imported = read_folder(tmp_path / "out")
    sizes = {key: value for key, value in vars(config).items() if key not in ("described", "specs")}
    assert {key: getattr(imported.config, key) for key in sizes} == sizes
    for parameter, array in parameters.items():
        found = np.asarray(imported.parameters[parameter], np.float32)
        limit = np.abs(array) * 2.0**-8 if precision == "bfloat16" else 0
        assert (np.abs(found - array) <= limit).all(), parameter
