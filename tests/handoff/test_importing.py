"""A result is taken back only if it is what it says, of a hand-off that was made here, on the base that this had."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from engine.checkpoints.store.store import CheckpointStore
from engine.errors import CheckpointError
from engine.handoff import HandoffPlan, hand_off, import_any
from tests.handoff.other_machine import trained_elsewhere
from tests.session.small_repository import OPTIONS

ROWS = OPTIONS.changed(mode="wsla")


@pytest.fixture
def plan(repository, data_folder, tiny_base):
    return HandoffPlan(repository, data_folder, ROWS, "tiny")


@pytest.fixture
def result(plan, cpu, tmp_path):
    """The result of a hand-off."""
    return trained_elsewhere(hand_off(plan, tmp_path / "out").path, cpu)


@pytest.fixture
def store(data_folder):
    return CheckpointStore(data_folder / "checkpoints")


def change(file, **values):
    file.write_text(json.dumps(json.loads(file.read_text()) | values))


def replace_tensors(result, tensors):
    """Other weights, with the hash that belongs to them."""
    save_file(tensors, result / "trained.safetensors")
    digest = hashlib.sha256((result / "trained.safetensors").read_bytes()).hexdigest()
    change(result / "result.json", trained_sha256=digest)


def refused(store, data_folder, result, words):
    before = {one.id for one in store.list()}
    with pytest.raises(CheckpointError, match=words):
        import_any(store, data_folder, result)
    assert {one.id for one in store.list()} == before


def test_the_whole_folder_or_the_result_alone_once(store, data_folder, result, tmp_path):
    first = import_any(store, data_folder, result.parent)
    moved = result.rename(tmp_path / "elsewhere")
    assert import_any(store, data_folder, moved) == first
    assert first.name == "shop #1" and "hand-off" in first.note
    named = import_any(store, data_folder, moved, "of the cluster")
    assert named.name == "of the cluster" and named.delta == first.delta
    assert len([one for one in store.list() if one.run == first.run]) == 2


def test_a_later_result_of_the_same_hand_off_is_another_checkpoint(store, data_folder, result):
    """The run goes on while its best so far is imported."""
    early = import_any(store, data_folder, result)
    values = json.loads((result / "result.json").read_text())
    change(result / "result.json", step=values["step"] + 5, held_out_after=values["held_out_after"] - 0.1)
    later = import_any(store, data_folder, result)
    assert later.id != early.id and later.name == "shop #2" and import_any(store, data_folder, result) == later


def test_a_hand_off_without_a_result_is_said_to_be_one(plan, store, data_folder, tmp_path):
    done = hand_off(plan, tmp_path / "out")
    refused(store, data_folder, done.path, "without a result")


def test_a_run_that_did_not_help_is_not_imported(store, data_folder, result):
    change(result / "result.json", best_step=0)
    refused(store, data_folder, result, "did not improve")


def test_only_with_the_data_folder_that_it_was_made_with(store, data_folder, result):
    change(result / "result.json", handoff="0123456789ab")
    refused(store, data_folder, result, "not made with this data folder")
    change(result / "result.json", handoff="../../settings")
    refused(store, data_folder, result, "not the id")


def test_only_as_trained_from_what_was_handed_off(store, data_folder, result):
    """train.py says which run.json it read."""
    change(result / "result.json", run_sha256="0" * 64)
    refused(store, data_folder, result, "another run.json")


def test_only_while_its_base_is_there(store, data_folder, result):
    store.delete("tiny")
    refused(store, data_folder, result, "no longer there")


@pytest.mark.parametrize(("part", "value"), [("base", {"id": "", "sha256": "0" * 64}), ("tokenizer", "0" * 32)])
def test_only_on_the_weights_and_the_tokenizer_it_was_made_with(store, data_folder, result, tiny_base, part, value):
    (record,) = (data_folder / "handoffs").iterdir()
    change(record, **{part: value | {"id": tiny_base.id} if part == "base" else value})
    refused(store, data_folder, result, "other weights or another tokenizer")


def test_weights_that_were_changed_on_the_way(store, data_folder, result):
    content = bytearray((result / "trained.safetensors").read_bytes())
    content[-1] ^= 1
    (result / "trained.safetensors").write_bytes(content)
    refused(store, data_folder, result, "does not have the hash")


def test_weights_of_another_kind(store, data_folder, result):
    tensors = load_file(result / "trained.safetensors")
    name = next(iter(tensors))
    replace_tensors(result, tensors | {name: tensors[name][1:]})
    refused(store, data_folder, result, "is needed")
    replace_tensors(result, tensors | {name: tensors[name].astype(np.float16)})
    refused(store, data_folder, result, "F16")
    replace_tensors(result, tensors | {name: np.full_like(tensors[name], np.nan)})
    refused(store, data_folder, result, "NaN or infinite")
    replace_tensors(result, tensors | {"more": tensors[name]})
    refused(store, data_folder, result, "unexpected tensor 'more'")
    replace_tensors(result, {key: array for key, array in tensors.items() if key != name})
    refused(store, data_folder, result, "lacks tensor")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"event": "step", "step": "one"}', "invalid value for 'step'"),
        ('{"event": "step", "step": 1, "colour": 1}', "invalid value for 'colour'"),
        ('{"event": "step", "step": 1}', "is incomplete"),
        ('{"event": "run", "command": "rm"}', "is not an event"),
        ("[1]", "is not an event"),
        ("{", "not valid JSON"),
    ],
)
def test_a_history_that_is_none(store, data_folder, result, line, words):
    with (result / "history.jsonl").open("a") as file:
        file.write(line + "\n")
    refused(store, data_folder, result, words)


def test_the_history_of_another_run(store, data_folder, result):
    lines = (result / "history.jsonl").read_text().splitlines()
    lines[0] = json.dumps(json.loads(lines[0]) | {"run": "another"})
    (result / "history.jsonl").write_text("\n".join(lines))
    refused(store, data_folder, result, "of another run")


@pytest.mark.parametrize(
    "values", [{"best_step": 99}, {"held_out_after": None}, {"seconds": "long"}, {"schema": 2}, {"colour": 1}]
)
def test_a_result_that_contradicts_itself(store, data_folder, result, values):
    change(result / "result.json", **values)
    refused(store, data_folder, result, "contradicts itself|invalid value|cannot be|this version can read")


def test_a_record_that_is_damaged(store, data_folder, result):
    (record,) = (data_folder / "handoffs").iterdir()
    change(record, options={"mode": "dance"})
    refused(store, data_folder, result, "is damaged")
    change(record, schema=2)
    refused(store, data_folder, result, "another version")
