"""Finding, renaming, annotating, lineage, the trash, retention and what is in use."""

from __future__ import annotations

import json

import pytest

from engine.checkpoints.store.manifest import Facts
from engine.checkpoints.store.store import CheckpointStore, Retention
from engine.errors import CheckpointError
from tests.checkpoints.store.samples import TINY, parameters, same, save_base, save_wsla, wsla_change


def names(manifests) -> list[str]:
    return [manifest.name for manifest in manifests]


def test_a_store_that_is_not_there_is_empty(store):
    assert store.list() == store.unreadable() == store.trash() == []
    assert store.gc() == 0 and store.empty_trash() == 0 and store.disk_use().checkpoints == 0
    with pytest.raises(CheckpointError, match="There is no checkpoint 'x'"):
        store.get("x")


def test_checkpoints_are_found_by_id_name_and_beginning(store):
    base = save_base(store)
    first, second = save_wsla(store, "adapted 1"), save_wsla(store, "adapted 2")
    assert names(store.list()) == ["adapted 2", "adapted 1", "base"]
    assert store.get(base.id) == store.get("base") == store.get(base.id[:12]) == store.get("ba") == base
    assert store.get("adapted 1") == first and store.get("adapted 2") == second
    with pytest.raises(CheckpointError, match=r"'adapted' .*2 checkpoints"):
        store.get("adapted")
    with pytest.raises(CheckpointError, match="No checkpoint was named"):
        store.get("")
    with pytest.raises(CheckpointError, match="There is no checkpoint"):
        store.get(base.id[:3])


def test_rename_and_annotate_change_only_what_they_are_told(store):
    saved = save_base(store)
    assert store.rename("base", "Mamba 130m").name == "Mamba 130m"
    changed = store.annotate("Mamba 130m", note="good at Python", tags=["a", "b", "a"], pinned=True)
    assert (changed.note, changed.tags, changed.pinned) == ("good at Python", ("a", "b"), True)
    assert store.annotate(saved.id, pinned=False).note == "good at Python"
    assert store.get(saved.id) == store.annotate(saved.id)
    assert store.get(saved.id).files == saved.files and store.verify(saved.id) == []
    for name in ("", "a/b", "..", "CON", "x" * 121, "a\nb", " a"):
        with pytest.raises(CheckpointError):
            store.rename(saved.id, name)
    with pytest.raises(CheckpointError):
        store.annotate(saved.id, note="x" * 20_001)
    assert store.get(saved.id).name == "Mamba 130m"


def test_a_duplicate_stands_alone(store):
    source = save_base(store, pinned=True)
    copy = store.duplicate("base", "copy")
    assert copy.parents == (source.id,) and copy.files == source.files and not copy.pinned and copy.id != source.id
    store.delete("base")
    assert same(store.load_parameters("copy"), parameters()) and store.verify("copy") == []


def test_a_duplicate_of_a_damaged_checkpoint_is_refused(store):
    save_base(store)
    (store.folder_of("base") / "card.md").write_text("other")
    with pytest.raises(CheckpointError, match=r"card\.md does not match"):
        store.duplicate("base", "copy")
    assert names(store.list()) == ["base"]


def test_a_base_that_others_need_cannot_be_deleted_without_being_told(store):
    save_base(store)
    save_wsla(store, "first")
    save_wsla(store, "second", base="first", seed=2)
    assert names(store.dependants("base")) == ["first", "second"] and names(store.dependants("first")) == ["second"]
    assert store.dependants("second") == []
    with pytest.raises(CheckpointError, match="base is needed by first"):
        store.delete("base")
    store.delete("base", force=True)
    with pytest.raises(CheckpointError, match="is in the trash: restore it"):
        store.load_parameters("second")
    assert store.empty_trash() == 0  # what is still needed stays
    store.restore("base")
    assert same(store.load_parameters("second"), wsla_change(2))
    store.delete("base", force=True)
    assert store.empty_trash(force=True) > 0
    with pytest.raises(CheckpointError, match="is not in the store"):
        store.load_parameters("second")


def test_another_copy_of_the_base_will_do(store):
    base = save_base(store)
    save_wsla(store)
    store.duplicate("base", "copy")
    store.delete(base.id)
    assert names(store.lineage("adapted")) == ["adapted", "copy"]
    assert names(store.dependants("copy")) == ["adapted"]
    assert same(store.load_parameters("adapted"), wsla_change()) and store.verify("adapted") == []
    assert store.empty_trash() > 0
    with pytest.raises(CheckpointError, match="needed by adapted"):
        store.delete("copy")


def test_the_trash_gives_back_and_forgets(store):
    saved = save_base(store)
    deleted = store.delete("base")
    assert store.list() == [] and [item.key for item in store.trash()] == [deleted.key]
    item = store.trash()[0]
    assert item == deleted and item.manifest == saved and item.deleted.endswith("Z")
    assert store.disk_use().trash > 0 and store.disk_use().checkpoints < 100
    assert store.restore("base") == saved and store.trash() == [] and store.verify("base") == []
    with pytest.raises(CheckpointError, match="There is no checkpoint 'base' in the trash"):
        store.restore("base")
    store.delete(saved.id)
    other = save_base(store, "other")
    store.delete("other")
    assert store.empty_trash([other.id]) > 0 and [item.name for item in store.trash()] == ["base"]
    assert store.empty_trash() > 0 and store.trash() == []
    assert store.disk_use().trash == 0 == store.disk_use().leftovers


def test_what_is_there_is_not_overwritten_by_a_restore(store, tmp_path):
    saved = save_base(store)
    copy = CheckpointStore(tmp_path / "other")
    copy.adopt(store.folder_of("base"), saved)
    store.delete("base")
    store.adopt(copy.folder_of("base"), saved)
    with pytest.raises(CheckpointError, match="base is already"):
        store.restore("base")


def test_a_whole_trash_with_a_base_and_its_delta_can_be_emptied(store):
    save_base(store)
    save_wsla(store)
    store.delete("adapted")
    store.delete("base")
    key = next(item.key for item in store.trash() if item.name == "base")
    assert store.empty_trash([key]) == 0  # the delta in the trash could still be restored
    assert store.empty_trash() > 0 and store.trash() == []


def test_retention_keeps_the_best_the_newest_the_pinned_and_their_bases(store):
    save_base(store)
    losses = [3.0, 1.0, 2.5, 2.0, 1.8, 1.7]
    for step, loss in enumerate(losses):
        save_wsla(store, f"step {step}", step=step, metrics={"held_out_loss": loss}, pinned=step == 2)
    save_wsla(store, "on step 0", base="step 0", run="run 2")
    rule = Retention(newest=2, best=1)
    going = store.apply_retention(rule, dry_run=True)
    assert sorted(names(going)) == ["step 3"] and len(store.list()) == 8
    store.delete("on step 0")
    assert sorted(names(store.apply_retention(rule, run="run 2"))) == []
    assert sorted(names(store.apply_retention(rule))) == ["step 0", "step 3"]
    assert sorted(names(store.list())) == ["base", "step 1", "step 2", "step 4", "step 5"]
    assert store.apply_retention(rule) == []
    assert sorted(names(store.apply_retention(Retention(0, 0)))) == ["step 1", "step 4", "step 5"]
    with pytest.raises(CheckpointError, match="negative"):
        store.apply_retention(Retention(-1, 0))


def test_a_newer_schema_is_shown_and_not_touched(store):
    base = save_base(store)
    newer = save_wsla(store)
    path = store.folder_of("adapted") / "manifest.json"
    content = {**json.loads(path.read_bytes()), "schema": 2, "surprise": {"of": "the future"}}
    path.write_text(json.dumps(content))
    stamp = {p: (p.stat().st_mtime_ns, p.read_bytes()) for p in path.parent.rglob("*") if p.is_file()}
    assert store.list() == [base]
    (shown,) = store.unreadable()
    assert shown.id == newer.id and shown.newer and "schema 2" in shown.reason
    attempts = [
        lambda: store.rename(newer.id, "x"),
        lambda: store.annotate(newer.id, note="x"),
        lambda: store.delete(newer.id),
        lambda: store.delete(newer.id, force=True),
        lambda: store.duplicate(newer.id, "x"),
        lambda: store.load_parameters(newer.id),
        lambda: store.delete("base"),  # it may need it
    ]
    for attempt in attempts:
        with pytest.raises(CheckpointError):
            attempt()
    assert "schema 2" in store.verify(newer.id)[0].words
    store.gc()
    store.apply_retention(Retention(0, 0))
    assert {p: (p.stat().st_mtime_ns, p.read_bytes()) for p in path.parent.rglob("*") if p.is_file()} == stamp


def test_a_newer_schema_in_the_trash_is_not_emptied_with_it(store):
    save_base(store)
    key = store.delete("base").key
    path = store.folder / "trash" / key / "manifest.json"
    path.write_text(json.dumps({"schema": 9}))
    assert store.trash()[0].newer and store.trash()[0].manifest is None
    assert store.empty_trash() == 0 == store.empty_trash([key]) and path.exists()
    assert store.empty_trash(force=True) > 0


def test_a_damaged_manifest_is_shown_and_can_be_thrown_away(store):
    saved = save_base(store)
    (store.folder / saved.id / "manifest.json").write_bytes(b"{")
    (shown,) = store.unreadable()
    assert not shown.newer and "not valid JSON" in shown.reason
    with pytest.raises(CheckpointError, match="not valid JSON"):
        store.get(saved.id)
    assert store.delete(saved.id).manifest is None
    with pytest.raises(CheckpointError, match="cannot be restored"):
        store.restore(saved.id)
    assert store.empty_trash() > 0 and store.unreadable() == []


def test_strangers_in_the_folder_are_left_alone(store, tmp_path):
    saved = save_base(store)
    (store.folder / "notes.txt").write_text("mine")
    (store.folder / "folder").mkdir()
    (store.folder / ("a" * 32)).symlink_to(store.folder / saved.id)
    assert store.list() == [saved] and store.unreadable() == []
    store.gc()
    assert (store.folder / "notes.txt").read_text() == "mine" and (store.folder / "folder").is_dir()


def test_a_base_that_goes_while_its_delta_is_written_is_noticed(store):
    base = save_base(store)

    def history():
        store.delete(base.id)
        yield {"step": 1}

    with pytest.raises(CheckpointError, match="base of late"):
        store.save_delta(Facts("late", "wsla"), base="base", delta=_delta(), history=history())
    assert store.list() == [] and store.disk_use().leftovers == 0


def _delta():
    from engine.checkpoints.store.delta import make_delta

    return make_delta("wsla", TINY, wsla_change())
