"""Every planted fault is found and described."""

from __future__ import annotations

import dataclasses
import json
import os

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from engine.checkpoints.store.checking import hash_of
from engine.checkpoints.store.delta import Delta, DeltaPart
from engine.checkpoints.store.manifest import BaseReference, Facts, FileRecord
from engine.checkpoints.store.store import CheckpointStore, Manifest
from tests.checkpoints.store.samples import TINY, parameters, save_base, save_wsla, tokenizer

NORM = "backbone.norm_f.weight"


@pytest.fixture
def filled(store) -> CheckpointStore:
    """A base and a delta on it, both whole."""
    save_base(store)
    save_wsla(store)
    assert store.verify("base") == [] == store.verify("adapted")
    return store


def words(store: CheckpointStore, which: str) -> str:
    return "\n".join(f"{finding.file}: {finding.words}" for finding in store.verify(which))


def rewrite(store: CheckpointStore, manifest: Manifest, **changes) -> None:
    """Put a manifest on disk that was never saved, with the hashes of the files as they now are."""
    folder = store.folder / manifest.id
    files = {name: hash_of(folder / name) for name in manifest.files if (folder / name).is_file()}
    changed = dataclasses.replace(manifest, **{"files": files, **changes})
    (folder / "manifest.json").write_bytes(changed.to_json())


def with_tensors(store: CheckpointStore, which: str, **changes: np.ndarray | None) -> str:
    """What verify says after tensors of a checkpoint were replaced (or removed), hashes made to fit."""
    manifest = store.get(which)
    path = store.folder_of(which) / manifest.weights_file
    tensors = {**load_file(path), **{name.replace("__", "."): array for name, array in changes.items()}}
    save_file({name: array for name, array in tensors.items() if array is not None}, path, {"format": "pt"})
    rewrite(store, manifest)
    return words(store, which)


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json", "card.md"])
def test_a_flipped_byte(filled, name):
    path = filled.folder_of("base") / name
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)
    assert f"{name}: Its content has changed" in words(filled, "base")
    assert f"{name}: Its base base: Its content has changed" in words(filled, "adapted")


def test_a_byte_more_or_less(filled):
    path = filled.folder_of("base") / "model.safetensors"
    size = path.stat().st_size
    path.write_bytes(path.read_bytes()[:-1])
    assert f"Its size is {size - 1} bytes; it was written with {size}." in words(filled, "base")
    assert "is cut off" in words(filled, "base")


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json"])
def test_a_missing_file(filled, name):
    (filled.folder_of("base") / name).unlink()
    assert f"{name}: The file is missing." in words(filled, "base")
    assert f"{name}: Its base base: The file is missing." in words(filled, "adapted")


def test_a_link_in_place_of_a_file(filled, tmp_path):
    path = filled.folder_of("base") / "card.md"
    (tmp_path / "elsewhere").write_bytes(path.read_bytes())
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")
    assert "is a link; links are not followed." in words(filled, "base")


def test_a_pipe_in_place_of_a_file(filled):
    path = filled.folder_of("base") / "card.md"
    path.unlink()
    os.mkfifo(path)
    assert "is not a regular file." in words(filled, "base")


def test_a_wrong_shape(filled):
    said = with_tensors(filled, "base", **{NORM.replace(".", "__"): np.ones(3, np.float32)})
    assert f"{NORM} has shape (3,); the configuration wants (16,)." in said


def test_a_missing_and_a_strange_tensor(filled):
    said = with_tensors(filled, "base", **{NORM.replace(".", "__"): None, "stranger": np.ones(3, np.float32)})
    assert f"The tensor {NORM} is missing." in said
    assert "The tensor stranger" in said


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", [np.float32, np.float16])
def test_values_that_are_not_finite(filled, value, kind):
    array = np.ones(16, kind)
    array[[2, 5]] = value
    said = with_tensors(filled, "base", **{NORM.replace(".", "__"): array})
    assert f"{NORM} holds 2 " in said


def test_a_type_that_is_no_parameter(filled):
    said = with_tensors(filled, "base", **{NORM.replace(".", "__"): np.ones(16, np.int64)})
    assert "model.safetensors: " in said


def test_values_of_a_delta_that_are_not_finite(filled):
    name = "backbone.layers.0.mixer.x_proj.weight"
    array = np.full((2 * TINY.state_size, TINY.intermediate_size), np.nan, np.float32)
    assert f"{name} holds {array.size} " in with_tensors(filled, "adapted", **{name.replace(".", "__"): array})


def test_a_delta_that_does_not_fit(filled):
    name = "backbone.layers.0.mixer.x_proj.weight".replace(".", "__")
    assert "has shape (2, 2); (8, 32) is needed." in with_tensors(
        filled, "adapted", **{name: np.ones((2, 2), np.float32)}
    )
    assert "The delta has no tensor" in with_tensors(filled, "adapted", **{name: None})
    assert "The tensor x belongs to no part of the delta." in with_tensors(filled, "adapted", x=np.ones(1, np.float32))
    stranger = DeltaPart("rows", "nobody", first=0, last=1, tensor="x")
    rewrite(filled, filled.get("adapted"), delta=(stranger,))
    assert "The delta changes nobody, which the model does not have." in words(filled, "adapted")


@pytest.mark.parametrize(
    ("index", "said"),
    [
        (np.array([1, 999], np.int32), "(320 rows)"),
        (np.array([1, -1], np.int32), "names a row beyond"),
        (np.array([1, 1], np.int32), "names a row twice."),
        (np.array([1, 2], np.float32), "integers"),
    ],
)
def test_rows_that_are_not_there(filled, index, said):
    part = DeltaPart("indexed_rows", "backbone.embeddings.weight", index="i", tensor="t")
    good = Delta((part,), {"i": np.array([1, 2], np.int32), "t": np.ones((2, 16), np.float32)})
    filled.save_delta(Facts("rows", "vocabulary"), base="base", delta=good)
    assert filled.verify("rows") == []
    assert said in with_tensors(filled, "rows", i=index)


def test_a_tokenizer_that_does_not_fit(store):
    small = dataclasses.replace(TINY, vocab_size=250)
    zeros = {name: np.zeros(shape, np.float32) for name, shape in small.parameter_shapes().items()}
    store.save(Facts("base", "base"), config=small, parameters=zeros, tokenizer=tokenizer())
    assert "entries, more than the model's 250." in words(store, "base")


def test_a_tokenizer_that_is_none(store):
    store.save(
        Facts("base", "base"), config=TINY, parameters=parameters(), tokenizer=b'{"model": {"type": "WordPiece"}}'
    )
    assert "tokenizer.json is a WordPiece tokenizer" in words(store, "base")
    for number, content in enumerate((b"[]", b"\xff", b'{"model": ' * 300 + b"1" + b"}" * 300)):
        store.save(Facts(f"other {number}", "base"), config=TINY, parameters=parameters(), tokenizer=content)
        assert words(store, f"other {number}").startswith("tokenizer.json: ")


def test_a_missing_base(filled):
    filled.delete("base", force=True)
    assert "is in the trash: restore it." in words(filled, "adapted")
    filled.empty_trash(force=True)
    assert "is not in the store." in words(filled, "adapted")


def test_a_base_with_another_hash(filled):
    manifest = filled.get("adapted")
    rewrite(filled, manifest, base=BaseReference(manifest.base.id, "0" * 64))
    said = words(filled, "adapted")
    assert "was made on weights with the hash 000000000000…, but its base base has weights" in said
    assert "a different model" in said


def test_a_base_that_is_itself(filled):
    manifest = filled.get("adapted")
    rewrite(filled, manifest, base=BaseReference(manifest.id, manifest.weights_sha256))
    assert "is its own base" in words(filled, "adapted")


def test_a_base_of_another_shape(filled):
    manifest = filled.get("adapted")
    path = filled.folder_of("adapted") / "config.json"
    keys = {**json.loads(path.read_bytes()), "vocab_size": 321}
    path.write_text(json.dumps(keys))
    rewrite(filled, manifest)
    assert "config.json: It does not describe the same model" in words(filled, "adapted")


@pytest.mark.parametrize(
    "content", [b"", b"[]", b'{"model_type": "llama"}', b'{"num_hidden_layers": 100000}', b"{" * 99]
)
def test_a_configuration_that_is_none(filled, content):
    manifest = filled.get("base")
    (filled.folder_of("base") / "config.json").write_bytes(content)
    rewrite(filled, manifest)
    assert "config.json: " in words(filled, "base")


def test_a_history_that_is_none(filled):
    manifest = filled.get("adapted")
    (filled.folder_of("adapted") / "history.jsonl").write_bytes(b'{"step": 1}\nnonsense\n')
    rewrite(filled, manifest)
    assert "history.jsonl: Line 2 of " in words(filled, "adapted")


def test_damaged_tensors_for_resuming(store):
    save_base(store)
    from tests.checkpoints.store.samples import wsla_delta

    store.save_delta(Facts("a", "wsla"), base="base", delta=wsla_delta(), resume={"x.safetensors": b"nonsense"})
    assert "resume/x.safetensors: " in words(store, "a")


def test_a_manifest_that_is_damaged(filled):
    manifest = filled.get("base")
    path = filled.folder_of("base") / "manifest.json"
    path.write_bytes(path.read_bytes()[:-20])
    (finding,) = filled.verify(manifest.id)
    assert finding.file == "manifest.json" and "is not valid JSON" in finding.words


def test_a_manifest_of_another_checkpoint(filled):
    base, adapted = filled.get("base"), filled.get("adapted")
    (filled.folder / base.id / "manifest.json").write_bytes(adapted.to_json())
    assert "belongs to another checkpoint" in filled.verify(base.id)[0].words


def test_a_list_of_files_that_leaves_the_folder(filled):
    manifest = filled.get("base")
    content = json.loads(manifest.to_json())
    for name in ("../x", "resume/../../x", "/etc/passwd", "a\\b", "NUL", "resume/a/b", ".hidden", "manifest.json"):
        content["files"] = {**{k: vars(v) for k, v in manifest.files.items()}, name: vars(FileRecord("0" * 64, 1))}
        (filled.folder / manifest.id / "manifest.json").write_text(json.dumps(content))
        (shown,) = filled.unreadable()
        assert not shown.newer
