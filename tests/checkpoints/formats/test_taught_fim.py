"""A checkpoint that was taught to fill in: exports carry the names, imports find them, merges do not assume them."""

from __future__ import annotations

import json

import gguf
import numpy as np
import pytest

from engine.checkpoints.combining.compare import compare
from engine.checkpoints.combining.merge import merge, save_merge
from engine.checkpoints.combining.sides import side_of
from engine.checkpoints.formats.exporting import export_checkpoint
from engine.checkpoints.formats.importing import import_checkpoint
from engine.checkpoints.store.manifest import Facts
from engine.corpus.tokens.taught_fim import FIM_NAMES
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.model.architectures.reading import config_from
from engine.model.initialise import initial_parameters
from tests.checkpoints.formats.gguf_samples import rewritten
from tests.corpus.tokens import samples
from tests.corpus.tokens.test_taught_fim import SMOLLM

KEYS = {"model_type": "llama", "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
FORMER = ["<gh_stars>", "<issue_start>", "<issue_comment>"]


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return Tokenizer.load(samples.write_style(tmp_path_factory.mktemp("smollm"), SMOLLM))


@pytest.fixture(autouse=True)
def family(store, plain):
    """A base, and three checkpoints of it: two that fill in and one that does not."""
    config = config_from(KEYS | {"intermediate_size": 64, "vocab_size": 512})
    for number, (name, tokenizer) in enumerate(
        {"base": plain, "taught": plain.with_taught_fim(), "too": plain.with_taught_fim(), "other": plain}.items()
    ):
        facts = Facts(name, "base" if name == "base" else "full", parents=(store.get("base").id,) if number else ())
        parameters = dict(initial_parameters(config, number))
        store.save(facts, config=config, parameters=parameters, tokenizer=tokenizer.to_json().encode())


def tokenizer_of(store, which: str) -> Tokenizer:
    return Tokenizer.load(store.tokenizer_path(which))


@pytest.mark.parametrize("format", ["hf", "gguf", "coil"])
def test_what_goes_out_fills_in_when_it_comes_back(store, tmp_path, format):
    out = tmp_path / {"hf": "folder", "gguf": "model.gguf", "coil": "model.coil"}[format]
    export_checkpoint(store, "taught", format, out)
    if format == "coil":
        store.delete("taught", force=True)
    back = import_checkpoint(store, out, "back")
    taught, again = tokenizer_of(store, "too"), tokenizer_of(store, back.id)
    assert again.has_taught_fim and again.special == taught.special
    assert [again.token(number) for number in again.special.fim] == list(FIM_NAMES)
    assert [again.without_taught_fim().token(number) for number in again.special.fim] == FORMER


def test_names_and_roles_are_in_a_gguf_file(store, tmp_path, plain):
    exported = export_checkpoint(store, "taught", "gguf", tmp_path / "model.gguf")
    reader = gguf.GGUFReader(tmp_path / "model.gguf")
    keys = {name.removeprefix("tokenizer.ggml."): field.contents() for name, field in reader.fields.items()}
    ids = [keys[f"fim_{role}_token_id"] for role in ("pre", "suf", "mid")]
    assert ids == list(plain.with_taught_fim().special.fim)
    assert [keys["tokens"][number] for number in ids] == list(FIM_NAMES)
    assert all(keys["token_type"][number] == gguf.TokenType.CONTROL for number in ids)
    assert any("--spm-infill" in note for note in exported.notes)
    export_checkpoint(store, "base", "gguf", tmp_path / "base.gguf")
    assert not any("fim" in name for name in gguf.GGUFReader(tmp_path / "base.gguf").fields)


def test_names_are_in_a_hugging_face_folder(store, tmp_path, plain):
    export_checkpoint(store, "taught", "hf", tmp_path / "folder")
    content = json.loads((tmp_path / "folder" / "tokenizer.json").read_text())
    names = {token["id"]: token["content"] for token in content["added_tokens"]}
    assert [names[number] for number in plain.with_taught_fim().special.fim] == list(FIM_NAMES)


@pytest.mark.parametrize("former", [["<gh_stars>"], ["<|im_end|>", "<issue_start>", "<issue_comment>"], [1, 2, 3]])
def test_a_gguf_file_with_other_former_names_was_not_taught_here(store, tmp_path, former):
    export_checkpoint(store, "taught", "gguf", tmp_path / "model.gguf")
    keys = {"tokenizer.codecoil.fim_renamed_from": former}
    rewritten(tmp_path / "model.gguf", tmp_path / "changed.gguf", keys=keys)
    tokenizer = tokenizer_of(store, import_checkpoint(store, tmp_path / "changed.gguf", "changed").id)
    assert tokenizer.has_fim and not tokenizer.has_taught_fim and not tokenizer.special.suffix_first


def test_a_base_and_what_was_taught_can_be_compared(store):
    found = compare(side_of(store, "base"), side_of(store, "taught"))
    assert found.whole.relative_l2 > 0


@pytest.mark.parametrize(("first", "second", "fills_in"), [("taught", "too", True), ("taught", "other", False)])
def test_a_merge_fills_in_if_both_parents_do(store, first, second, fills_in):
    for one, other in ((first, second), (second, first)):
        child = merge(side_of(store, one), side_of(store, other), 0.5)
        saved = save_merge(store, one, other, child, f"{one} {other}")
        assert tokenizer_of(store, saved.id).has_fim == fills_in
        np.testing.assert_equal(tokenizer_of(store, saved.id).digest, tokenizer_of(store, "base").digest)
