"""From the store into every format, and back into a store."""

from __future__ import annotations

import json
import os
import tracemalloc

import numpy as np
import pytest

from engine.checkpoints.formats.exporting import export_checkpoint
from engine.checkpoints.formats.hugging_face import write_folder
from engine.checkpoints.formats.importing import import_checkpoint
from engine.checkpoints.store.delta import Delta, DeltaPart
from engine.checkpoints.store.manifest import Facts
from engine.checkpoints.store.store import CheckpointStore
from engine.errors import CheckpointError, CodecoilError
from engine.model.config import ModelConfig


@pytest.fixture
def other(tmp_path):
    """A colleague's store."""
    return CheckpointStore(tmp_path / "other")


def same_parameters(store, which, other, that):
    ours, theirs = store.load_parameters(which), other.load_parameters(that)
    return list(ours) == list(theirs) and all(np.array_equal(ours[name], theirs[name]) for name in ours)


def test_a_whole_checkpoint_by_way_of_a_bundle(tmp_path, store, base, other):
    done = export_checkpoint(store, "base", "coil", tmp_path)
    assert done.path == tmp_path / "base.coil" and done.nbytes == done.path.stat().st_size and not done.notes
    manifest = import_checkpoint(other, done.path)
    assert manifest == base and other.verify(base.id) == []
    assert same_parameters(store, base.id, other, base.id)
    assert import_checkpoint(other, done.path) == manifest and len(other.list()) == 1
    assert import_checkpoint(other, done.path, "ours").name == "ours" and len(other.list()) == 1
    assert other.disk_use().leftovers == 0


def test_a_delta_by_way_of_a_bundle(tmp_path, store, deltas, other):
    done = export_checkpoint(store, "wsla", "coil", tmp_path / "w.coil")
    assert "needs its base, base" in done.notes[0]
    with pytest.raises(CheckpointError, match=r"wsla is a delta"):
        import_checkpoint(other, done.path)
    assert other.list() == [] and other.disk_use().leftovers == 0
    import_checkpoint(other, export_checkpoint(store, "base", "coil", tmp_path / "b.coil").path)
    imported = import_checkpoint(other, done.path)
    assert same_parameters(store, "wsla", other, imported.id) and other.verify(imported.id) == []


def test_a_delta_together_with_its_base(tmp_path, store, deltas, other):
    done = export_checkpoint(store, "lora", "coil", tmp_path / "whole.coil", full=True)
    imported = import_checkpoint(other, done.path)
    assert imported.kind == "whole" and imported.name == "lora" and imported.parents == (deltas["lora"].id,)
    assert same_parameters(store, "lora", other, imported.id) and other.verify(imported.id) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "store", "whole.coil"]


@pytest.mark.parametrize("which", ["base", "wsla", "lora"])
def test_a_folder_in_hugging_face_format_and_back(tmp_path, store, deltas, other, which):
    done = export_checkpoint(store, which, "hf", tmp_path / "folder")
    assert f"# {which}" in (done.path / "README.md").read_text()
    imported = import_checkpoint(other, done.path)
    assert imported.name == "folder" and imported.mode == "import" and other.verify(imported.id) == []
    assert same_parameters(store, which, other, imported.id)
    again = import_checkpoint(other, done.path / "model.safetensors")
    assert again == imported and len(other.list()) == 1
    assert import_checkpoint(other, done.path, "another").id != imported.id


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_fewer_bits_stay_as_they_came(tmp_path, store, base, other, precision):
    done = export_checkpoint(store, "base", "hf", tmp_path / "folder", precision)
    imported = import_checkpoint(other, done.path, "half")
    assert imported.precision == precision and other.verify(imported.id) == []
    again = export_checkpoint(other, "half", "hf", tmp_path / "again", precision)
    for name in ("model.safetensors", "config.json"):
        assert (again.path / name).read_bytes() == (done.path / name).read_bytes()


def test_gguf_and_adapters(tmp_path, store, deltas):
    done = export_checkpoint(store, "lora", "gguf", tmp_path, "q8_0")
    assert done.path == tmp_path / "lora.gguf"
    assert any("splits text" in note for note in done.notes) and any("ssm_dt.weight as f16" in n for n in done.notes)
    assert "PEFT" in export_checkpoint(store, "lora", "adapter", tmp_path / "a").notes[0]
    assert "rows" in export_checkpoint(store, "wsla", "adapter", tmp_path / "b").notes[0]
    with pytest.raises(CheckpointError, match="base is a full model"):
        export_checkpoint(store, "base", "adapter", tmp_path / "c")


@pytest.mark.parametrize(
    ("format", "parts"), [("coil", ["Unpacking", "Verifying"]), ("hf", ["Reading"])], ids=["bundle", "folder"]
)
def test_an_import_tells_how_far_it_is_and_can_be_ended_in_every_part(tmp_path, store, base, other, format, parts):
    path = export_checkpoint(store, "base", format, tmp_path / f"x.{format}").path
    for part in parts:

        def ends(begun, part=part):
            def report(done, total):
                if begun == part and done:
                    raise KeyboardInterrupt

            return report

        with pytest.raises(KeyboardInterrupt):
            import_checkpoint(other, path, report_for=ends)
        assert other.list() == [] and other.disk_use().leftovers == 0 and other.disk_use().trash == 0

    said = {}
    import_checkpoint(other, path, report_for=lambda part: lambda done, total: said.__setitem__(part, (done, total)))
    assert list(said) == parts and all(done == total > 0 for done, total in said.values())


def test_what_cannot_be_asked_for(tmp_path, store, base):
    with pytest.raises(CheckpointError, match="'onnx'"):
        export_checkpoint(store, "base", "onnx", tmp_path / "x")
    with pytest.raises(CheckpointError, match="hf cannot be written as q4_0"):
        export_checkpoint(store, "base", "hf", tmp_path / "x", "q4_0")
    with pytest.raises(CheckpointError, match="omit the precision"):
        export_checkpoint(store, "base", "coil", tmp_path / "x", "f16")
    with pytest.raises(CheckpointError):
        export_checkpoint(store, "nothing", "hf", tmp_path / "x")
    assert not (tmp_path / "x").exists()


def test_what_cannot_be_imported(tmp_path, store):
    (tmp_path / "model.bin").write_bytes(b"\x80\x02pickle")
    (tmp_path / "empty").mkdir()
    for path in (tmp_path / "model.bin", tmp_path / "empty", tmp_path / "missing", tmp_path):
        with pytest.raises(CodecoilError):
            import_checkpoint(store, path)
    with pytest.raises(CheckpointError, match="name"):
        import_checkpoint(store, tmp_path / "empty", "../x")
    assert store.list() == []


def test_a_pathological_tokenizer_is_refused(store, tmp_path, config, parameters, tokenizer):
    folder = tmp_path / "model"
    write_folder(folder, config, parameters, tokenizer)
    content = json.loads((folder / "tokenizer.json").read_text())
    pattern = {"type": "Split", "pattern": {"Regex": "(a+)+b"}, "behavior": "Isolated", "invert": False}
    content["pre_tokenizer"] = {
        "type": "Sequence",
        "pretokenizers": [pattern, {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}],
    }
    (folder / "tokenizer.json").write_text(json.dumps(content))
    with pytest.raises(CodecoilError, match="model"):
        import_checkpoint(store, folder)
    assert store.list() == []


def test_importing_holds_pieces_of_a_large_tensor_not_all_of_it(store, tmp_path, monkeypatch):
    monkeypatch.setattr("engine.tensor_file.PIECE", 1 << 16)
    large = ModelConfig(hidden_size=32, num_hidden_layers=1, vocab_size=1 << 19, state_size=4)
    numbers = {name: np.ones(shape, np.float32) for name, shape in large.parameter_shapes().items()}
    for precision in ("float32", "bfloat16", "float16"):
        write_folder(tmp_path / precision, large, numbers, None, precision)
    for precision in ("float32", "bfloat16", "float16"):
        size = (tmp_path / precision / "model.safetensors").stat().st_size
        tracemalloc.start()
        try:
            manifest = import_checkpoint(store, tmp_path / precision)
            assert manifest.precision == precision
            assert store.verify(manifest.id) == []
            assert tracemalloc.get_traced_memory()[1] < size / 2
        finally:
            tracemalloc.stop()


def test_a_bundle_whose_numbers_are_not_finite_is_taken_out_again(tmp_path, store, base, config, other):
    name = "backbone.layers.0.mixer.x_proj.weight"
    rows = np.full((1, config.intermediate_size), np.nan, np.float32)
    delta = Delta((DeltaPart("rows", name, first=0, last=1, tensor="t"),), {"t": rows})
    broken = store.save_delta(Facts(name="broken", mode="wsla"), base=base.id, delta=delta)
    import_checkpoint(other, export_checkpoint(store, "base", "coil", tmp_path / "b.coil").path)
    path = export_checkpoint(store, broken.id, "coil", tmp_path / "x.coil").path
    with pytest.raises(CheckpointError, match=r"broken.*NaN"):
        import_checkpoint(other, path)
    assert [one.name for one in other.list()] == ["base"] and other.trash() == []


def test_a_checkpoint_folder_as_it_is(store, base, other):
    imported = import_checkpoint(other, store.folder_of(base.id))
    assert imported == base and other.verify(base.id) == []


def test_a_place_that_cannot_be_written(tmp_path, store, base):
    (tmp_path / "file").write_text("")
    for format in ("hf", "gguf", "coil"):
        with pytest.raises(CheckpointError, match="cannot be written"):
            export_checkpoint(store, "base", format, tmp_path / "file" / "x")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes there")
def test_a_pipe_does_not_make_it_wait(tmp_path, store, base):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(CheckpointError, match="pipe"):
        import_checkpoint(store, tmp_path / "pipe")
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        folder = export_checkpoint(store, "base", "hf", tmp_path / name.split(".")[0]).path
        (folder / name).unlink()
        os.mkfifo(folder / name)
        with pytest.raises(CheckpointError, match="is not a regular file"):
            import_checkpoint(store, folder)
