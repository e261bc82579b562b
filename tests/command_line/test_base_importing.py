"""`codecoil base import`: what is said before anything is copied, and what is refused."""

from __future__ import annotations

import json

import pytest

from app.command_line import main
from engine.checkpoints.formats.exporting import export_checkpoint
from engine.checkpoints.formats.gguf_export import write_gguf
from engine.checkpoints.store.store import CheckpointStore
from engine.model.architectures.reading import config_from
from engine.model.initialise import initial_parameters
from tests.checkpoints.formats.gguf_samples import SIZES, rewritten, written
from tests.corpus.tokens import samples
from tests.corpus.tokens.test_taught_fim import SMOLLM


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("CODECOIL_DATA", str(tmp_path / "data"))
    return tmp_path / "data"


def stored(data) -> list:
    return CheckpointStore(data / "checkpoints").list()


@pytest.mark.parametrize(("name", "mode"), [("qwen2", "qk"), ("mamba", "wsla")])
def test_the_facts_come_before_the_import(tmp_path, tokenizer_path, data, capsys, monkeypatch, name, mode):
    path, config, _ = written(tmp_path, tokenizer_path, name, "f16")
    copied = []

    def importing(store, *arguments):
        copied.append(capsys.readouterr().out)
        return original(store, *arguments)

    from engine.checkpoints.formats import importing as module

    original = module.import_checkpoint
    monkeypatch.setattr(module, "import_checkpoint", importing)
    assert main(["base", "import", str(path), "--name", "coder"]) == 0
    (before,) = copied
    for words in (config.model_type, f"{config.parameter_count:,}", "float16", "full", "vocabulary", "lora", mode):
        assert words in before
    assert "coder" in capsys.readouterr().out
    assert [one.name for one in stored(data)] == ["coder"]


def test_the_size_is_what_the_store_takes(tmp_path, tokenizer_path, data, capsys):
    path, config, _ = written(tmp_path, tokenizer_path, "llama", "f16")
    assert main(["base", "import", str(path), "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    (manifest,) = stored(data)
    assert facts["bytes"] == pytest.approx(manifest.nbytes, abs=20_000)  # headers and the manifest
    assert facts["architecture"] == "llama" and facts["parameters"] == config.parameter_count
    assert facts["fill_in_the_middle"] is True  # as every tokenizer that is trained here
    assert facts["can_be_taught_fim"] is False
    assert set(facts["memory"]) == {"full", "vocabulary", "lora", "qk"}
    assert facts["memory"]["full"] > facts["memory"]["lora"] > 4 * config.parameter_count
    assert facts["id"] == manifest.id and facts["new"] is True
    assert main(["base", "import", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["new"] is False


def test_a_base_without_fill_in_the_middle_says_whether_it_can_be_taught(tmp_path, data, capsys):
    for special, words in ((SMOLLM, "before the cursor; adapting it teaches it"), (SMOLLM[:6], "before the cursor\n")):
        folder = tmp_path / str(len(special))
        folder.mkdir()
        tokenizer = samples.write_style(folder, special) / "tokenizer.json"
        config = config_from({"model_type": "llama", **SIZES, "vocab_size": 512})
        write_gguf(folder / "model.gguf", config, dict(initial_parameters(config, 3)), tokenizer, "f16")
        assert main(["base", "import", str(folder / "model.gguf"), "--name", str(len(special))]) == 0
        assert words in capsys.readouterr().out


def test_a_hugging_face_folder_is_imported_too(tmp_path, tokenizer_path, data, capsys):
    path, *_ = written(tmp_path, tokenizer_path, "qwen3")
    assert main(["base", "import", str(path), "--name", "first"]) == 0
    export_checkpoint(CheckpointStore(data / "checkpoints"), "first", "hf", tmp_path / "folder", "bfloat16", False)
    capsys.readouterr()
    assert main(["base", "import", str(tmp_path / "folder"), "--name", "second", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["architecture"], facts["stored"], facts["precision"]) == ("qwen3", "bfloat16", "bfloat16")


@pytest.mark.parametrize(
    ("change", "word"),
    [({"keys": {"general.architecture": "bert"}}, "bert"), ({"keys": {"tokenizer.ggml.pre": "odd"}}, "odd")],
)
def test_what_is_not_supported_is_refused_in_the_words_of_the_reader(
    tmp_path,
    tokenizer_path,
    data,
    capsys,
    change,
    word,
):
    path, *_ = written(tmp_path, tokenizer_path)
    assert main(["base", "import", str(rewritten(path, tmp_path / "other.gguf", **change))]) == 2
    captured = capsys.readouterr()
    assert word in captured.err and not captured.out and not stored(data)


@pytest.mark.parametrize("name", ["nothing", "text.txt", "folder"])
def test_what_is_no_model_is_refused(tmp_path, data, capsys, name):
    (tmp_path / "text.txt").write_text("words")
    (tmp_path / "folder").mkdir()
    assert main(["base", "import", str(tmp_path / name)]) == 2
    assert name in capsys.readouterr().err and not stored(data)
