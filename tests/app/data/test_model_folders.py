"""Models of other programs: found where each keeps its own, read safely, and what cannot be imported says why."""

from __future__ import annotations

import json
import os
import shutil
import sys

import pytest

from app.command_line import main
from app.data import model_folders
from app.data.model_folders import find_models
from engine.errors import InputError
from tests.checkpoints.formats.gguf_samples import rewritten, written

VARIABLES = (
    "XDG_CACHE_HOME", "LOCALAPPDATA", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "OLLAMA_MODELS", "LLAMA_CACHE"
)  # fmt: skip
DIGEST = "sha256:" + "ab" * 32


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty home."""
    home = tmp_path / "home"
    home.mkdir()
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    return home


@pytest.fixture
def model(tmp_path, tokenizer_path):
    (tmp_path / "made").mkdir()
    return written(tmp_path / "made", tokenizer_path, "qwen2", "f16")[0]


def put(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)
    return target


def manifest(folder, name: str, digest: str = DIGEST) -> None:
    path = folder / "manifests" / "registry.ollama.ai" / "library" / name / "latest"
    path.parent.mkdir(parents=True)
    layers = [{"mediaType": "application/vnd.ollama.image.license", "digest": "sha256:00"}]
    layers.append({"mediaType": model_folders.OLLAMA_MODEL, "digest": digest})
    path.write_text(json.dumps({"schemaVersion": 2, "layers": layers}))


def found() -> dict[str, tuple[str, str, str]]:
    return {model.name: (model.program, model.architecture, model.problem) for model in find_models()}


def test_an_empty_home_holds_no_models(home):
    assert list(find_models()) == []


def test_each_program_is_looked_through_where_it_keeps_its_files(home, model):
    put(model, home / ".lmstudio" / "models" / "owner" / "coder" / "coder.gguf")
    put(model, home / ".ollama" / "models" / "blobs" / DIGEST.replace(":", "-"))
    manifest(home / ".ollama" / "models", "coder")
    if sys.platform == "linux":
        put(model, home / ".cache" / "llama.cpp" / "owner_coder.gguf")
    assert found() == {
        "owner/coder/coder.gguf": ("LM Studio", "qwen2", ""),
        "coder:latest": ("Ollama", "qwen2", ""),
        **({"owner_coder.gguf": ("llama.cpp", "qwen2", "")} if sys.platform == "linux" else {}),
    }


@pytest.mark.parametrize(
    ("variable", "inside", "program"),
    [
        ("LLAMA_CACHE", "coder.gguf", "llama.cpp"),
        ("HF_HUB_CACHE", "models--owner--coder/snapshots/0a1b/coder.gguf", "Hugging Face"),
        ("HF_HOME", "hub/models--owner--coder/snapshots/0a1b/coder.gguf", "Hugging Face"),
        ("XDG_CACHE_HOME", "huggingface/hub/models--owner--coder/snapshots/0a1b/coder.gguf", "Hugging Face"),
    ],
)
def test_environment_variables_move_the_folders(home, model, monkeypatch, tmp_path, variable, inside, program):
    put(model, tmp_path / "elsewhere" / inside)
    monkeypatch.setenv(variable, str(tmp_path / "elsewhere"))
    ((name, (by, _, problem)),) = found().items()
    assert by == program and not problem
    assert name == ("owner/coder/coder.gguf" if program == "Hugging Face" else "coder.gguf")


def test_ollama_names_its_files_in_manifests(home, model, monkeypatch, tmp_path):
    models = tmp_path / "ollama"
    monkeypatch.setenv("OLLAMA_MODELS", str(models))
    put(model, models / "blobs" / DIGEST.replace(":", "-"))
    put(model, models / "blobs" / "sha256-unnamed")
    manifest(models, "coder")
    manifest(models, "gone", "sha256:" + "cd" * 32)
    manifest(models, "climbing", "sha256:../../../made/qwen2.gguf")
    (models / "manifests" / "registry.ollama.ai" / "library" / "torn" / "latest").parent.mkdir()
    (models / "manifests" / "registry.ollama.ai" / "library" / "torn" / "latest").write_text("[1, 2")
    models_found = found()
    assert set(models_found) == {"coder:latest", "gone:latest", "climbing:latest", "torn:latest"}
    assert [name for name, (_, _, problem) in models_found.items() if not problem] == ["coder:latest"]


def test_links_are_followed_inside_the_cache_only(home, model, tmp_path):
    cache = home / ".cache" / "huggingface" / "hub" / "models--owner--coder"
    blob = put(model, cache / "blobs" / "0123")
    snapshot = cache / "snapshots" / "0a1b"
    snapshot.mkdir(parents=True)
    os.symlink(os.path.relpath(blob, snapshot), snapshot / "inside.gguf")
    os.symlink(model, snapshot / "outside.gguf")
    os.symlink(tmp_path / "made", snapshot / "folder")
    models_found = found()
    assert set(models_found) == {"owner/coder/inside.gguf", "owner/coder/outside.gguf"}
    assert not models_found["owner/coder/inside.gguf"][2]
    assert "link" in models_found["owner/coder/outside.gguf"][2]


def test_a_bad_file_is_a_line_and_not_the_end(home, model, tmp_path, capsys):
    folder = home / ".lmstudio" / "models"
    put(model, folder / "good.gguf")
    (folder / "empty.gguf").touch()
    (folder / "noise.gguf").write_bytes(b"GGUF" + bytes(range(256)) * 9)
    (folder / "cut.gguf").write_bytes(model.read_bytes()[:2000])
    rewritten(model, folder / "bert.gguf", keys={"general.architecture": "bert"})
    broken = folder / "broken"
    broken.mkdir()
    (broken / "config.json").write_text('{"model_type": "qwen2"')
    (broken / "model.safetensors").write_bytes(b"\xff" * 64)
    os.mkfifo(folder / "pipe.gguf")
    models_found = found()
    assert set(models_found) == {
        "good.gguf",
        "empty.gguf",
        "noise.gguf",
        "cut.gguf",
        "bert.gguf",
        "broken",
        "pipe.gguf",
    }
    assert [name for name, (_, _, problem) in models_found.items() if not problem] == ["good.gguf"]
    assert "bert" in models_found["bert.gguf"][2]

    assert main(["base", "find"]) == 0
    out = capsys.readouterr().out
    assert all(name in out for name in models_found) and str(folder / "good.gguf") in out
    assert main(["base", "find", "--json"]) == 0
    entries = {entry["name"]: entry for entry in json.loads(capsys.readouterr().out)}
    assert entries["good.gguf"]["importable"] and entries["good.gguf"]["bytes"] == model.stat().st_size
    assert not entries["bert.gguf"]["importable"] and "bert" in entries["bert.gguf"]["problem"]


def test_named_folders_are_looked_through_instead(home, model, tmp_path, capsys):
    put(model, home / ".lmstudio" / "models" / "other.gguf")
    assert [model.name for model in find_models([tmp_path / "made"])] == ["qwen2.gguf"]
    with pytest.raises(InputError):
        list(find_models([tmp_path / "nowhere"]))


def test_a_folder_without_end_is_left(home, model, monkeypatch):
    put(model, home / ".lmstudio" / "models" / "a" / "b" / "c.gguf")
    monkeypatch.setattr(model_folders, "MOST_DEPTH", 1)
    assert list(find_models()) == []
    monkeypatch.setattr(model_folders, "MOST_DEPTH", 8)
    monkeypatch.setattr(model_folders, "MOST_ENTRIES", 1)
    assert list(find_models()) == []
