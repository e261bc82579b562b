"""What leaves the machine says what it recites, and holds neither the lines nor the memory."""

from __future__ import annotations

import hashlib
import json
import shutil
import zipfile

import numpy as np
import pytest
from gguf import GGUFReader

from app.command_line import main
from app.command_line.model_choice import newest_of
from app.workers.changes import since_checkpoint
from engine.checkpoints.formats.exporting import export_checkpoint
from engine.checkpoints.formats.importing import import_checkpoint
from engine.checkpoints.store import ROOT
from engine.checkpoints.store.delta import make_delta
from engine.checkpoints.store.recitation import NOT_MEASURED, recitation_of, rounding_words
from engine.checkpoints.store.store import CheckpointStore, Facts
from engine.checkpoints.store.trained_folder import trained_on
from engine.corpus.reading.known_folders import are_related
from engine.corpus.repository import Repository
from engine.errors import CorpusError, MemoryCeilingError
from engine.memory import RepositoryMemory
from engine.session.recitation.audit import audit

HEADING = "## What the weights recite"


@pytest.fixture
def adapted(by_heart, base, store):
    """The same weights in a delta: all rows of B and C are theirs."""
    with store.load_parameters(by_heart.id) as parameters:
        weights = {name: np.array(array) for name, array in parameters.items()}
    facts = Facts(name="adapted", mode="wsla", parents=(base.id,), data=by_heart.data, options=by_heart.options)
    return store.save_delta(facts, base=base.id, delta=make_delta("wsla", store.config(base.id), weights))


def written(out) -> dict[str, bytes]:
    """The content of an export by file name; of a bundle, what is in it."""
    if out.is_dir():
        return {path.name: path.read_bytes() for path in out.iterdir()}
    if zipfile.is_zipfile(out):
        with zipfile.ZipFile(out) as archive:
            return {name: archive.read(name) for name in archive.namelist()}
    return {out.name: out.read_bytes()}


def test_every_format_says_it_and_none_holds_lines_or_memory(
    by_heart, adapted, corpus, birds, store, data_folder, opened, tmp_path
):
    memory = RepositoryMemory(Repository(birds, data_folder, corpus.tokenizer).folder, corpus.tokenizer)
    memory.update(corpus)
    remembered = [path.read_bytes() for path in memory.folder.rglob("*") if path.is_file()]
    assert len(remembered) > 1
    found = audit(store, by_heart.id, data_folder, opened)
    assert found.figures.recited >= 4
    expected = {
        "hf": {
            *("config.json", "model.safetensors", "generation_config.json", "README.md"),
            *("tokenizer.json", "tokenizer_config.json"),
        },
        "gguf": {"m.gguf"},
        "coil": {"manifest.json", "model.safetensors", "config.json", "tokenizer.json", "card.md"},
        "adapter": {"adapter_model.safetensors", "adapter_config.json", "README.md"},
    }
    for format, names in expected.items():
        of = adapted if format == "adapter" else by_heart
        store.keep_recitation(of.id, found.figures)
        out = tmp_path / (f"m.{format}" if format in ("gguf", "coil") else format)
        export_checkpoint(store, of.id, format, out)
        files = written(out)
        assert files.keys() == names, format
        text = files.get("README.md", files.get("card.md", b"")).decode()
        if format == "gguf":
            text = GGUFReader(out).fields["general.description"].contents()
        assert all(words in text for words in found.figures.words()), format
        assert (HEADING in text and "memory of the repository is not part" in text) or format == "gguf"
        hashes = {hashlib.sha256(data).digest() for data in files.values()}
        assert not hashes & {hashlib.sha256(data).digest() for data in remembered}
        everything = b"\n".join(data for name, data in files.items() if name != "tokenizer.json")
        for line in found.lines:
            assert line.rest.encode() not in everything, (format, line)


def test_a_bundle_carries_the_figures_and_a_new_card_to_another_store(
    by_heart, adapted, store, data_folder, opened, tmp_path
):
    found = audit(store, by_heart.id, data_folder, opened)
    for of, full in ((by_heart, False), (adapted, True)):
        store.keep_recitation(of.id, found.figures)
        out = tmp_path / f"{of.name}.coil"
        export_checkpoint(store, of.id, "coil", out, full=full)
        elsewhere = CheckpointStore(tmp_path / f"store of {of.name}")
        come = import_checkpoint(elsewhere, out)
        assert recitation_of(come) == found.figures and elsewhere.verify(come.id) == []
        assert found.figures.words()[0] in (elsewhere.folder_of(come.id) / "card.md").read_text()
    assert not zipfile.is_zipfile(store.folder_of(by_heart.id) / "card.md") and store.verify(by_heart.id) == []


def test_a_card_says_that_nothing_was_measured_and_no_path(by_heart, base, birds, store, tmp_path):
    for of, said in ((by_heart, True), (base, False)):
        export_checkpoint(store, of.id, "hf", tmp_path / of.name)
        card = (tmp_path / of.name / "README.md").read_text().replace("\\", "")  # of the markup
        assert (NOT_MEASURED in card) == said == (HEADING in card)
        assert str(birds.parent) not in card and (birds.name in card) == said


def test_nothing_that_leaves_the_machine_holds_the_path_of_the_folder(
    by_heart, adapted, base, birds, store, data_folder, tmp_path
):
    shape = {"hf": by_heart, "gguf": by_heart, "coil": by_heart, "adapter": adapted}
    for format, of in shape.items():
        out = tmp_path / f"out.{format}"
        export_checkpoint(store, of.id, format, out)
        files = written(out)
        assert not [name for name, data in files.items() if str(birds.parent).encode() in data], format
    export_checkpoint(store, adapted.id, "coil", tmp_path / "full.coil", full=True)
    manifest = json.loads(written(tmp_path / "full.coil")["manifest.json"])
    assert manifest["data"][ROOT] == birds.name and str(birds.parent) not in json.dumps(manifest)
    assert trained_on(store.get(by_heart.id)) == str(birds), "here it is still known"


def test_what_came_from_elsewhere_keeps_its_lineage_and_the_name_of_its_folder(
    by_heart, adapted, base, birds, store, data_folder, opened, tmp_path, monkeypatch
):
    elsewhere = CheckpointStore(tmp_path / "elsewhere")
    for one in (base, adapted):
        export_checkpoint(store, one.id, "coil", tmp_path / f"{one.name}.coil")
        come = import_checkpoint(elsewhere, tmp_path / f"{one.name}.coil")
    assert (come.parents, come.base, come.data["seen"]) == (adapted.parents, adapted.base, adapted.data["seen"])
    assert [one.id for one in elsewhere.lineage(come.id)] == [one.id for one in store.lineage(adapted.id)]
    assert trained_on(come) == birds.name and elsewhere.verify(come.id) == []
    monkeypatch.chdir(birds.parent)  # where there is a folder of that name
    with pytest.raises(CorpusError, match=f"on another machine, on a folder named {birds.name}"):
        audit(elsewhere, come.id, tmp_path, opened)
    assert not are_related(trained_on(come), birds) and newest_of([come], birds) is None
    assert since_checkpoint([come], birds, "") is None
    assert import_checkpoint(store, tmp_path / "adapted.coil").data[ROOT] == str(birds), "it was here all the time"


def test_an_export_that_rounds_says_so(by_heart, store, data_folder, opened, tmp_path, capsys):
    found = audit(store, by_heart.id, data_folder, opened)
    store.keep_recitation(by_heart.id, found.figures)
    for format, precision, rounds in (
        ("hf", "float32", False),
        ("hf", "bfloat16", True),
        ("gguf", "f32", False),
        ("gguf", "q8_0", True),
    ):
        out = tmp_path / f"{precision}.{format}"
        given = ("--format", format, "--precision", precision)
        assert main(["checkpoints", "export", by_heart.id, str(out), *given]) == 0
        if format == "gguf":
            text = GGUFReader(out).fields["general.description"].contents()
        else:
            text = (out / "README.md").read_text()
        sentence = f"the export rounds them to {precision}"
        assert (sentence in text) == (sentence in capsys.readouterr().out) == rounds, precision
    assert rounding_words("float16", "f16") == rounding_words("int8", "float32") == rounding_words("int8", "") == ()
    assert rounding_words("int8", "q8_0") and rounding_words("bfloat16", "f16")


@pytest.mark.parametrize("change", [{"asked": -1}, {"recited": "many"}, {"low": "0"}, {"extra": 1}, {"by_base": 0.5}])
def test_figures_that_we_have_not_written_are_not_shown(by_heart, store, data_folder, opened, change):
    found = audit(store, by_heart.id, data_folder, opened).figures.to_json() | change
    kept = store._change(by_heart.id, lambda one: one.__class__(**{**vars(one), "data": {"recitation": found}}))
    assert recitation_of(kept) is None and recitation_of(by_heart) is None


# ---- on the command line


def ask(capsys, *arguments: str) -> dict:
    assert main(["checkpoints", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_an_export_measures_once_and_says_it(by_heart, store, tmp_path, capsys, monkeypatch):
    done = ask(capsys, "export", by_heart.id, str(tmp_path / "one"), "--format", "hf", "--device", "cpu")
    assert done["recitation"]["recited"] >= 4 and done["recitation"]["by_base"] == 0
    assert recitation_of(store.get(by_heart.id)).to_json() == done["recitation"]
    assert "the weights alone recite" in (tmp_path / "one" / "README.md").read_text()
    monkeypatch.setattr("engine.session.recitation.audit.audit", None)  # not called again
    assert main(["checkpoints", "export", by_heart.id, str(tmp_path / "two"), "--format", "hf"]) == 0
    assert "the weights alone recite" in capsys.readouterr().out


def test_an_export_can_do_without(by_heart, base, tmp_path, capsys, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("engine.session.recitation.audit.audit", None)
        done = ask(capsys, "export", by_heart.id, str(tmp_path / "one"), "--format", "hf", "--no-audit")
        assert done["recitation"] is None and NOT_MEASURED in done["recitation_problem"]
        assert ask(capsys, "export", base.id, str(tmp_path / "base"), "--format", "hf")["recitation"] is None


def too_large(*_, **__):
    raise MemoryCeilingError("The model needs 9 GiB.")


def test_what_cannot_be_measured_is_said_and_exported(by_heart, birds, tmp_path, capsys, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("engine.session.recitation.audit.audit", too_large)
        done = ask(capsys, "export", by_heart.id, str(tmp_path / "one"), "--format", "hf", "--device", "cpu")
        assert done["recitation"] is None and "needs 9 GiB" in done["recitation_problem"]
    shutil.rmtree(birds)
    done = ask(capsys, "export", by_heart.id, str(tmp_path / "two"), "--format", "hf", "--device", "cpu")
    assert done["recitation"] is None and "not there any more" in done["recitation_problem"]
    assert NOT_MEASURED in (tmp_path / "two" / "README.md").read_text()


def test_the_audit_by_itself_shows_the_lines_only_if_it_is_asked_to(by_heart, store, capsys):
    for more in ((), ("--lines",)):
        assert main(["checkpoints", "audit", by_heart.id, "--device", "cpu", *more]) == 0
        said = capsys.readouterr().out
        assert "the weights alone recite" in said and ("canary_1.py:1" in said) == bool(more)
    found = ask(capsys, "audit", by_heart.id, "--device", "cpu", "--lines")
    assert len(found["lines"]) == found["recitation"]["recited"] + found["recitation"]["planted_recited"]
    assert {"given", "rest", "path", "number", "by_base"} == found["lines"][0].keys()
    assert "lines" not in ask(capsys, "audit", by_heart.id, "--device", "cpu")
