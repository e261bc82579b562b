"""`codecoil checkpoints`: every verb, for people and as JSON, once and again."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from app.command_line import FAILED, REFUSED, main
from app.command_line.model_choice import newest_for
from engine.checkpoints.store.delta import make_delta
from engine.checkpoints.store.manifest import Facts
from engine.checkpoints.store.store import CheckpointStore
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.model.config import ModelConfig
from engine.model.initialise import initial_parameters

ROOT = Path(__file__).parents[2]
SOURCE = "def add_{0}(first, second):\n    total = first + second * {0}\n    return total\n\n\nprint(add_{0}(1, 2))\n"
CONFIG = ModelConfig(hidden_size=16, num_hidden_layers=2, vocab_size=300, state_size=4)


@pytest.fixture
def store(data_folder):
    return CheckpointStore(data_folder / "checkpoints")


@pytest.fixture
def filled(store, tmp_path):
    """A base, two deltas on it and their ids by name."""
    Tokenizer.train([SOURCE.format(number) for number in range(9)], 300).save(tmp_path / "tokenizer.json")
    parameters = dict(initial_parameters(CONFIG, 0))
    facts = Facts(name="base", mode="base", metrics={"held_out_loss": 3.0}, options={"seed": 1})
    base = store.save(facts, config=CONFIG, parameters=parameters, tokenizer=tmp_path / "tokenizer.json")
    ids = {"base": base.id}
    for name, change, loss in (("first", 0.01, 2.5), ("second", -0.01, 2.25)):
        changed = {key: array + np.float32(change) for key, array in parameters.items()}
        delta = make_delta("wsla", CONFIG, changed)
        facts = Facts(name=name, mode="wsla", run="r", metrics={"held_out_loss": loss}, options={"seed": 2})
        ids[name] = store.save_delta(facts, base=base.id, delta=delta).id
    return ids


@pytest.fixture
def ask(capsys):
    """The JSON of a command, its exit code beside it."""

    def asked(*arguments, code=0):
        assert main(["checkpoints", *map(str, arguments), "--json"]) == code
        return json.loads(capsys.readouterr().out)

    return asked


@pytest.fixture
def say(capsys):
    """What a command prints, and where it ends."""

    def said(*arguments, code=0):
        assert main(["checkpoints", *map(str, arguments)]) == code
        printed = capsys.readouterr()
        return printed.out + printed.err

    return said


def test_an_empty_store(ask, say):
    found = ask("list")
    assert found["checkpoints"] == [] and found["unreadable"] == [] and found["disk_use"]["checkpoints"] == 0
    assert "0 checkpoints" in say("list")
    assert ask("verify") == {"checkpoints": [], "unreadable": []}
    assert "codecoil:" in say("show", "nobody", code=REFUSED)


def test_list_and_show(ask, say, filled):
    listed = ask("list")["checkpoints"]
    assert {one["name"]: one["id"] for one in listed} == filled
    assert all(one["bytes"] > 0 and one["files"] for one in listed)
    assert [one["name"] for one in ask("list", "--run", "r")["checkpoints"]] == ["second", "first"]
    printed = say("list")
    assert "wsla" in printed and "2.2500" in printed and "3 checkpoints" in printed
    shown = ask("show", "base")
    assert sorted(shown["dependants"]) == sorted([filled["first"], filled["second"]])
    assert shown["config"]["hidden_size"] == 16
    assert ask("show", filled["first"][:8])["base"]["id"] == filled["base"]
    assert "needed by" in say("show", "base") and "held_out_loss" in say("show", "base")
    assert "codecoil:" in say("show", "nobody", code=REFUSED)


def test_precisions_with_their_size_error_and_measured_loss(ask, say, filled, tmp_path):
    folder = tmp_path / "code"
    folder.mkdir()
    for number in range(4):
        (folder / f"part_{number}.py").write_text(SOURCE.format(number) * 8)
    rows = {row["precision"]: row for row in ask("show", "first", "--precisions")["precisions"]}
    assert rows["float32"]["largest_error"] == 0 and rows["float32"]["held_out_loss"] is None
    assert rows["q4_0"]["nbytes"] < rows["float16"]["nbytes"] < rows["float32"]["nbytes"]
    measured = {
        row["precision"]: row for row in ask("show", "first", "--precisions", "--repository", folder)["precisions"]
    }
    assert abs(measured["float16"]["held_out_loss"] - measured["float32"]["held_out_loss"]) < 0.01
    printed = say("show", "first", "--precisions")
    assert all(name in printed for name in rows)


def test_verify(ask, say, store, filled):
    assert all(one["findings"] == [] for one in ask("verify")["checkpoints"])
    assert "base" in say("verify", "base")
    path = store.folder_of(filled["first"]) / "delta.safetensors"
    data = bytearray(path.read_bytes())
    data[-1] ^= 0x40
    path.write_bytes(data)
    found = ask("verify", "first", code=FAILED)["checkpoints"][0]
    assert found["name"] == "first" and any(one["file"] == "delta.safetensors" for one in found["findings"])
    assert "delta.safetensors" in say("verify", code=FAILED)


def test_compare(ask, say, filled):
    found = ask("compare", "base", "first")
    tensors = found["tensors"]
    changed = {name for name, one in tensors.items() if one["changed_share"] > 0}
    assert changed == {f"backbone.layers.{i}.mixer.x_proj.weight" for i in range(2)}
    assert found["whole"]["cosine"] < 1 and found["layers"].keys() == {"0", "1"}
    assert [one["name"] for one in found["metrics"]] == ["held_out_loss"]
    printed = say("compare", "base", "first")
    assert "whole model" in printed and "x_proj.weight" in printed and "option seed: 1 | 2" in printed
    assert ask("compare", "base", "base")["whole"]["relative_l2"] == 0


def test_merge_without_measuring(ask, say, store, filled):
    found = ask("merge", "first", "second", "--weight", "0.25", "--out-name", "child")
    assert found["losses"] == {"first": 2.5, "second": 2.25, "child": None} and not found["measured"]
    child = store.get("child")
    assert child.mode == "merge" and child.parents == (filled["first"], filled["second"]) and child.metrics == {}
    name = "backbone.layers.1.mixer.x_proj.weight"
    first, second, blended = (store.load_parameters(which)[name] for which in ("first", "second", "child"))
    assert np.allclose(blended, 0.75 * first + 0.25 * second, atol=1e-7)
    again = ask("merge", "first", "second", "--weight", "0.25", "--out-name", "child")
    assert again["child"]["id"] == child.id and len(store.list()) == 4
    assert child.id[:8] in say("merge", "first", "second", "--weight", "0.25", "--out-name", "child")
    by_loss = ask("merge", "first", "second", "--weight", "loss", "--dry-run")
    assert by_loss["weights"]["outside"] == pytest.approx(1 / (1 + np.exp(-0.25))) and by_loss["child"] is None
    assert "much" in say("merge", "first", "second", "--weight", "much", code=REFUSED)
    stranger = dict(initial_parameters(CONFIG, 7))
    store.save(Facts(name="stranger", mode="base"), config=CONFIG, parameters=stranger)
    assert "stranger" in say("merge", "first", "stranger", code=REFUSED)
    assert "--repository" in say("merge", "first", "second", "--search", "4", code=REFUSED)


def test_a_merge_is_found_by_the_folder_that_its_parents_learned(ask, store, filled, tmp_path):
    parts = {"config": CONFIG, "parameters": store.load_parameters("base"), "tokenizer": store.tokenizer_path("base")}
    for name in ("here", "there"):
        facts = Facts(name=name, mode="full", parents=(filled["base"],), data={"root": str(tmp_path / name)})
        store.save(facts, **parts)
    assert ask("merge", "here", "there")["child"]["data"] == {"root": str(tmp_path / "here")}
    assert ask("merge", "first", "there")["child"]["data"] == {"root": str(tmp_path / "there")}
    newest = newest_for(store.list(), tmp_path / "here" / "file.py")
    assert newest.parents == (store.get("here").id, store.get("there").id)


def test_merge_with_losses_measured(ask, say, store, filled, tmp_path):
    folder = tmp_path / "code"
    folder.mkdir()
    for number in range(40):
        (folder / f"module_{number}.py").write_text(SOURCE.format(number) * (1 + number % 3))
    options = ("--repository", folder, "--device", "cpu")
    found = ask("merge", "first", "second", *options, "--out-name", "child")
    losses = found["losses"]
    assert found["measured"] and all(4 < loss < 7 for loss in losses.values())
    assert store.get("child").metrics == {"held_out_loss": losses["child"]}
    searched = ask("merge", "first", "second", *options, "--search", "5", "--out-name", "searched")
    assert searched["losses"]["first"] == losses["first"] and searched["trials"] == 5
    assert searched["losses"]["child"] <= min(losses["first"], losses["second"])
    assert f"{losses['first']:.4f}" in say("merge", "first", "second", *options, "--dry-run", "--weight", "loss")


def test_export_and_import(ask, say, store, filled, tmp_path):
    for format, out, precision in (
        ("hf", "folder", "float32"),
        ("gguf", "m.gguf", "f16"),
        ("coil", "m.coil", "float32"),
        ("adapter", "adapter", "float32"),
    ):
        for _ in range(2):  # what an export wrote, it may replace
            done = ask("export", "first", "--format", format, tmp_path / out)
            assert (done["path"], done["format"], done["precision"]) == (str(tmp_path / out), format, precision)
    assert ask("export", "first", "--format", "gguf", "--precision", "q4_0", tmp_path / "q.gguf")["precision"] == "q4_0"
    assert "Wrote" in say("export", "base", "--format", "hf", "--precision", "bfloat16", tmp_path / "half")
    new = ask("import", tmp_path / "folder", "--name", "back")
    assert new["new"] and new["mode"] == "import"
    assert not ask("import", tmp_path / "folder", "--name", "back")["new"]
    assert not ask("import", tmp_path / "m.coil")["new"]
    assert "half" in say("import", tmp_path / "half")
    loaded, original = store.load_parameters("back"), store.load_parameters("first")
    assert all(np.array_equal(loaded[name], original[name]) for name in original)
    (tmp_path / "folder" / "mine.txt").write_text("mine")
    assert "folder" in say("export", "base", "--format", "hf", tmp_path / "folder", code=REFUSED)
    assert "m.gguf" in say("import", tmp_path / "m.gguf", code=REFUSED)


def test_rename_note_and_pin(ask, say, filled):
    for _ in range(2):
        assert ask("rename", filled["first"], "best of all")["name"] == "best of all"
        assert ask("note", filled["first"], "keep \x1b[31mthis", "--tag", "a", "--tag", "b")["tags"] == ["a", "b"]
        assert ask("pin", filled["first"])["pinned"]
    assert "keep \\x1b[31mthis" in say("show", "best of all")
    assert ask("note", filled["first"], "other")["tags"] == ["a", "b"]
    assert not ask("pin", filled["first"], "--off")["pinned"]
    assert "best of all" in say("pin", filled["first"], "--off")
    assert "codecoil:" in say("rename", filled["first"], "../up", code=REFUSED)


def test_a_copy_that_needs_no_base(ask, say, store, filled):
    copy = ask("convert", "first")
    assert (copy["name"], copy["parents"], copy["new"]) == ("first (full)", [filled["first"]], True)
    again = ask("convert", "first")
    assert (again["id"], again["new"]) == (copy["id"], False)
    assert ask("convert", copy["id"])["id"] == copy["id"]
    assert "own words" in say("convert", "second", "--name", "own words")
    for name in ("first", "second", "base"):
        ask("delete", name)
    ask("trash", "--empty")
    assert all(one["findings"] == [] for one in ask("verify")["checkpoints"]) and len(store.list()) == 2


def test_a_copy_in_fewer_bits_has_a_loss_of_its_own(ask, say, store, filled, tmp_path):
    assert ask("convert", "first", "--precision", "ternary")["metrics"] == {}
    folder = tmp_path / "code"
    folder.mkdir()
    for number in range(4):
        (folder / f"part_{number}.py").write_text(SOURCE.format(number) * 8)
    measured = ("--repository", folder, "--device", "cpu")
    copy = ask("convert", "first", "--precision", "q8_0", "--name", "small", *measured)
    assert copy["precision"] == "q8_0" and copy["metrics"].keys() == {"held_out_loss"}
    assert copy["bytes"] < ask("convert", "first")["bytes"]
    card = (store.folder_of("small") / "card.md").read_text()
    assert "q8\\_0" in card and f"{copy['metrics']['held_out_loss']:.6g}" in card
    rows = ask("show", "first", "--precisions", *measured[:2])["precisions"]
    (row,) = (row for row in rows if row["precision"] == "q8_0")
    assert copy["metrics"]["held_out_loss"] == pytest.approx(row["held_out_loss"], rel=1e-6)
    assert "int3" in say("convert", "first", "--precision", "int3", code=REFUSED)


def test_delete_trash_and_restore(ask, say, store, filled):
    printed = say("delete", "base", code=REFUSED)
    assert "first" in printed and "second" in printed
    assert ask("delete", "first")["id"] == filled["first"]
    assert "first" in say("delete", filled["first"])
    assert [one["name"] for one in ask("trash")["trash"]] == ["first"]
    assert "1 in the trash" in say("trash")
    assert ask("restore", filled["first"])["name"] == "first"
    assert ask("restore", filled["first"])["name"] == "first"
    assert "codecoil:" in say("restore", "nobody", code=REFUSED)
    say("delete", "first")
    assert ask("trash", "--empty")["freed"] > 0
    assert ask("trash", "--empty")["freed"] == 0
    assert "codecoil:" in say("restore", filled["first"], code=REFUSED)
    assert ask("delete", "base", "--force")["name"] == "base"
    assert [one.name for one in store.list()] == ["second"]


def test_gc(ask, say, store, filled):
    (store.folder / "work").mkdir(exist_ok=True)
    (store.folder / "work" / "left").write_bytes(bytes(1000))
    planned = ask("gc", "--newest", "1", "--best", "0", "--dry-run")
    assert [one["name"] for one in planned["to_trash"]] == ["first"] and planned["freed"] == 0
    done = ask("gc", "--newest", "1", "--best", "0")
    assert [one["name"] for one in done["to_trash"]] == ["first"] and done["freed"] == 1000
    again = ask("gc", "--newest", "1", "--best", "0")
    assert again["to_trash"] == [] and again["freed"] == 0
    assert "Freed 0 B" in say("gc")
    assert "--newest" in say("gc", "--newest", "-1", code=REFUSED)


def test_no_window_is_loaded_and_the_data_folder_can_follow_the_verb(python, tmp_path):
    code = (
        "import sys; from app.command_line import main; "
        f"main(['checkpoints', 'list', '--data-dir', {str(tmp_path / 'here')!r}]); sys.exit('PySide6' in sys.modules)"
    )
    assert subprocess.run([python, "-c", code], cwd=ROOT, capture_output=True, timeout=600).returncode == 0
    assert (tmp_path / "here").is_dir()


def test_a_verb_is_needed(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["checkpoints"])
    assert ended.value.code == 2 and "VERB" in capsys.readouterr().err
