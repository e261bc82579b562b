"""What is saved comes back, bit for bit: whole checkpoints, deltas of every mode, chains, and what is beside them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save

from engine.checkpoints.store.delta import Delta, DeltaPart, apply_delta, difference, make_delta
from engine.checkpoints.store.manifest import Facts, read_manifest
from engine.checkpoints.store.store import CheckpointStore
from engine.errors import CheckpointError, CodecoilError
from engine.model.files import FolderParameters, read_config
from engine.model.model import load_model
from tests.checkpoints.store.samples import (
    HISTORY,
    TINY,
    parameters,
    same,
    save_base,
    save_wsla,
    tiny_model,
    tokenizer,
    wsla_change,
)


def test_a_whole_checkpoint_comes_back_bit_for_bit(store):
    with tiny_model() as model:
        saved = store.save(
            Facts("base", "base"), config=model.config, parameters=model.parameters, tokenizer=tokenizer()
        )
    with store.load_parameters("base") as loaded:
        assert loaded.config.parameter_shapes() == TINY.parameter_shapes()
        assert same(loaded, parameters())
        assert not any(array.flags.writeable for array in loaded.values())
    assert store.get(saved.id) == saved == store.list()[0]
    assert store.verify("base") == []


def test_the_files_are_those_of_the_safetensors_library_and_of_hugging_face(store):
    saved = save_base(store)
    folder = store.folder_of("base")
    assert (folder / "model.safetensors").read_bytes() == save(parameters(), {"format": "pt"})
    assert same(dict(FolderParameters(folder, read_config(folder))), parameters())
    assert {"manifest.json", *saved.files} == {path.name for path in folder.iterdir()}
    model = load_model(folder, device=None)
    model.close()


def test_saving_what_was_loaded_gives_the_same_bytes(store):
    first = save_base(store)
    with store.load_parameters("base") as loaded:
        second = store.save(Facts("again", "base"), config=TINY, parameters=loaded)
    assert first.weights_sha256 == second.weights_sha256


@pytest.mark.parametrize("kind", [np.float16, np.float64, "bits"])
def test_parameters_of_other_types_are_stored_as_float32(store, kind):
    name = "backbone.norm_f.weight"
    values = dict(parameters())
    bits = np.full(16, 0x3FC0, np.uint16)  # 1.5 as bfloat16
    values[name] = bits if kind == "bits" else np.full(16, 1.5, kind)
    store.save(Facts("mixed", "import"), config=TINY, parameters=values)
    np.testing.assert_array_equal(store.load_parameters("mixed")[name], np.full(16, 1.5, np.float32))


def test_a_wsla_delta_holds_only_the_rows_of_b_and_c(store):
    save_base(store)
    saved = save_wsla(store)
    with store.load_parameters("adapted") as loaded:
        assert same(loaded, wsla_change())
    tensors = load_file(store.folder_of("adapted") / "delta.safetensors")
    assert {array.shape for array in tensors.values()} == {(2 * TINY.state_size, TINY.intermediate_size)}
    assert len(tensors) == TINY.num_hidden_layers
    assert "tokenizer.json" not in saved.files
    assert store.tokenizer_path("adapted") == store.folder_of("base") / "tokenizer.json"
    assert store.verify("adapted") == []


def test_a_lora_delta_adds_its_pairs(store):
    save_base(store)
    generator = np.random.default_rng(0)
    with tiny_model() as model:
        adapters = model.attach_adapters(rank=2, scale=0.5)
        for name in adapters:
            adapters[name] = generator.standard_normal(adapters[name].shape, np.float32)
        delta = make_delta("lora", TINY, model.parameters, adapters, scale=0.5)
    store.save_delta(Facts("lora", "lora"), base="base", delta=delta)
    loaded, before = store.load_parameters("lora"), parameters()
    for name, array in loaded.items():
        expected = before[name].astype(np.float64)
        if name.endswith(("in_proj.weight", "out_proj.weight")):
            stem = name.removesuffix(".weight")
            up, down = delta.tensors[f"{stem}.lora_B.weight"], delta.tensors[f"{stem}.lora_A.weight"]
            expected = expected + 0.5 * (up.astype(np.float64) @ down)
            assert not np.array_equal(array, before[name])
        np.testing.assert_allclose(array, expected, rtol=1e-6, atol=1e-6)
    assert store.verify("lora") == []


def test_a_vocabulary_delta_holds_the_rows_of_its_tokens(store):
    save_base(store)
    with tiny_model() as model:
        adapters = model.attach_adapters(rank=2)
        table = model.parameters["backbone.embeddings.weight"]
        rows = [5, 300, 7, 7]
        table[rows] += 1
        model.parameters["backbone.embeddings.weight"] = table
        delta = make_delta("vocabulary", TINY, model.parameters, adapters, token_ids=np.array(rows))
    store.save_delta(Facts("words", "vocabulary"), base="base", delta=delta)
    loaded = store.load_parameters("words")["backbone.embeddings.weight"]
    changed = np.flatnonzero((loaded != parameters()["backbone.embeddings.weight"]).any(axis=1))
    np.testing.assert_array_equal(changed, [5, 7, 300])
    np.testing.assert_array_equal(loaded, table)
    assert store.verify("words") == []


def test_a_difference_of_two_models_holds_the_rows_that_differ(store):
    save_base(store)
    changed = {name: array.copy() for name, array in parameters().items()}
    changed["backbone.embeddings.weight"][[3, 90]] = -0.0
    changed["backbone.layers.1.mixer.D"][4:9] += 1
    changed["backbone.norm_f.weight"] += 1
    delta = difference(parameters(), changed, TINY)
    assert [(part.kind, part.parameter) for part in delta.parts] == [
        ("indexed_rows", "backbone.embeddings.weight"),
        ("rows", "backbone.layers.1.mixer.D"),
        ("rows", "backbone.norm_f.weight"),
    ]
    store.save_delta(Facts("changed", "full"), base="base", delta=delta)
    assert same(store.load_parameters("changed"), changed)
    assert dict(apply_delta(parameters().items(), delta.parts, delta.tensors)).keys() == changed.keys()
    assert difference(changed, changed, TINY) == Delta((), {})


def test_a_delta_on_a_delta_is_resolved_through_both(store):
    save_base(store)
    save_wsla(store, "first", "base", seed=1)
    save_wsla(store, "second", "first", seed=2)
    assert [m.name for m in store.lineage("second")] == ["second", "first", "base"]
    assert same(store.load_parameters("second"), wsla_change(2))
    assert store.tokenizer_path("second") == store.folder_of("base") / "tokenizer.json"


def test_converting_makes_a_delta_a_full_model(store):
    save_base(store)
    delta = save_wsla(store, metrics={"held_out_loss": 1.5})
    whole = store.convert("adapted")
    assert whole.kind == "whole" and whole.base is None and whole.parents == (delta.id,)
    assert whole.metrics == {"held_out_loss": 1.5} and whole.name == "adapted (full)"
    assert same(store.load_parameters(whole.id), wsla_change())
    assert store.history(whole.id) == HISTORY
    assert store.convert(whole.id) == whole
    store.delete("adapted")
    store.delete("base")
    assert store.verify(whole.id) == []


def test_convert_shortens_a_long_name(store):
    save_base(store)
    save_wsla(store, "名" * 80)
    assert store.convert("名" * 80).name.endswith("名 (full)")


def test_history_resume_and_card_come_back(store):
    save_base(store)
    resume = {"optimiser.safetensors": {"m": np.arange(4, dtype=np.float32)}, "cursor.json": b'{"file": 3}'}
    facts = Facts(
        "run", "wsla", run="run 1", step=40, metrics={"held_out_loss": 1.25}, options={"learning_rate": 1e-3},
        data={"languages": {"python": {"files": 12, "bytes": 34_567}}}, note="a | note", tags=("good",),
    )  # fmt: skip
    store.save_delta(facts, base="base", delta=make_delta("wsla", TINY, wsla_change()), history=HISTORY, resume=resume)
    assert store.history("run") == HISTORY
    kept = store.folder_of("run") / "resume"
    assert json.loads((kept / "cursor.json").read_bytes()) == {"file": 3}
    np.testing.assert_array_equal(load_file(kept / "optimiser.safetensors")["m"], np.arange(4, dtype=np.float32))
    card = (store.folder_of("run") / "card.md").read_text(encoding="utf-8")
    for words in (
        "# run",
        "a \\| note",
        "learning\\_rate",
        "languages / python / bytes | 34,567",
        "held\\_out\\_loss",
        "1.25",
    ):
        assert words in card
    assert store.verify("run") == []


def test_a_manifest_reads_back_as_it_was_written(store):
    save_base(store)
    saved = save_wsla(
        store, note="Zeile 1\nZeile 2 — ünïcode", tags=("a", "b"), options={"nested": {"list": [1, 2.5, None]}}
    )
    path = store.folder_of("adapted") / "manifest.json"
    again = read_manifest(path.read_bytes(), "it")
    assert again == saved
    assert again.to_json() == path.read_bytes()


def test_numbers_of_numpy_and_tuples_are_kept_as_json_has_them(store):
    facts = Facts(
        "x", "full", metrics={"a": np.float32(0.5), "b": 2}, options={"shape": (1, (2, np.int64(3)))}, tags=["t"]
    )
    saved = store.save(facts, config=TINY, parameters=parameters())
    assert saved.metrics == {"a": 0.5, "b": 2} and saved.options == {"shape": [1, [2, 3]]}
    assert store.get("x") == saved


def test_a_checkpoint_in_another_precision_gives_float32_back(store):
    for precision in ("bfloat16", "int8"):
        saved = store.save(Facts(precision, "full"), config=TINY, parameters=parameters(), precision=precision)
        with store.load_parameters(precision) as loaded:
            for name, array in loaded.items():
                assert array.dtype == np.float32 and array.shape == parameters()[name].shape
                assert np.abs(array - parameters()[name]).max() <= 0.02 * np.abs(parameters()[name]).max()
            again = store.save(Facts("again", "full"), config=TINY, parameters=loaded, precision=precision)
        assert saved.weights_sha256 == again.weights_sha256
        assert store.verify(saved.id) == []
        store.delete(again.id)


def test_what_cannot_be_saved_is_refused_before_anything_is_written(store):
    save_base(store)
    short = {name: array for name, array in parameters().items() if name != "backbone.norm_f.weight"}
    wrong = {**parameters(), "backbone.norm_f.weight": np.zeros(3, np.float32)}
    part = DeltaPart("rows", "backbone.norm_f.weight", first=0, last=99, tensor="t")
    attempts = [
        lambda: store.save(Facts("x", "base"), config=TINY, parameters=short),
        lambda: store.save(Facts("x", "base"), config=TINY, parameters=wrong),
        lambda: store.save(Facts("x", "unheard of"), config=TINY, parameters=parameters()),
        lambda: store.save(Facts("../x", "base"), config=TINY, parameters=parameters()),
        lambda: store.save(Facts("x", "base", metrics={"loss": float("nan")}), config=TINY, parameters=parameters()),
        lambda: store.save(Facts("x", "base", options={"a": object()}), config=TINY, parameters=parameters()),
        lambda: store.save(Facts("x", "base"), config=TINY, parameters=parameters(), resume={"../y": b""}),
        lambda: store.save(Facts("x", "base"), config=TINY, parameters=parameters(), history=[{"a": float("nan")}]),
        lambda: store.save(Facts("x", "base"), config=TINY, parameters=parameters(), tokenizer=store.folder / "no"),
        lambda: store.save(Facts("x", "base"), config=TINY, parameters=parameters(), precision="float7"),
        lambda: store.save_delta(Facts("x", "wsla"), base="nobody", delta=Delta((), {})),
        lambda: store.save_delta(
            Facts("x", "wsla"), base="base", delta=Delta((part,), {"t": np.zeros(99, np.float32)})
        ),
        lambda: make_delta("lora", TINY, parameters()),
        lambda: make_delta("full", TINY, parameters()),
        lambda: make_delta("vocabulary", TINY, parameters()),
        lambda: store.convert("nobody"),
        lambda: store.load_delta("base"),
    ]
    for number, attempt in enumerate(attempts):
        with pytest.raises(CodecoilError) as refusal:
            attempt()
        assert refusal.value.message, number
    assert [m.name for m in store.list()] == ["base"]
    assert store.disk_use().leftovers == 0


def test_a_checkpoint_can_be_adopted_from_a_folder(store, tmp_path):
    other = CheckpointStore(tmp_path / "other")
    saved = save_base(other)
    source = other.folder_of("base")
    assert store.adopt(source, saved) == saved == store.adopt(source, saved)
    assert same(store.load_parameters("base"), parameters()) and store.verify("base") == []
    (source / "config.json").write_bytes(b"{}")
    third = CheckpointStore(tmp_path / "third")
    with pytest.raises(CheckpointError, match=r"config\.json does not match"):
        third.adopt(source, saved)
    assert third.list() == [] and third.disk_use().leftovers == 0


def test_a_pass_over_the_items_forgets_what_it_has_shown(store):
    save_base(store)
    loaded = store.load_parameters("base")
    kept = dict(loaded.items())
    assert same(kept, parameters())  # forgotten pages come back when they are looked at
    loaded.close()
    assert same(kept, parameters())
    with pytest.raises(CheckpointError, match="closed"):
        loaded["backbone.norm_f.weight"]
