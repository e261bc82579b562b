"""Everything that the Checkpoints page asks for, on a real store."""

from __future__ import annotations

import time

import pytest

from app.network.base_models import BASE_MODELS
from app.state.checkpoints import CheckpointController
from app.values.checkpoints import VerifyView
from app.values.failures import Cancelled
from app.workers.jobs import Job
from engine.devices import open_device
from engine.handoff import HandoffPlan, hand_off, import_any
from engine.scorecard.token_measures import ScoreCancelledError
from tests.app import played_jobs
from tests.app.played_jobs import PlayedJobs
from tests.app.state.program import make_tiny_base
from tests.checkpoints.formats.gguf_samples import written
from tests.handoff.other_machine import trained_elsewhere
from tests.session.small_repository import OPTIONS, write_file


@pytest.fixture
def store(folder):
    from engine.checkpoints.store.store import CheckpointStore

    return CheckpointStore(folder / "checkpoints")


@pytest.fixture
def child(store, tiny):
    """A whole checkpoint made of the tiny one, with other weights, a history and a parent."""
    from engine.checkpoints.store.store import Facts

    with store.load_parameters(tiny) as loaded:
        moved = {name: array + 0.01 for name, array in loaded.items()}
        facts = Facts(name="child", mode="full", parents=(tiny,), metrics={"held_out_loss": 2.5}, options={"steps": 5})
        history = [{"event": "step", "step": 1, "loss": 3.0}, {"event": "evaluation", "step": 1, "held_out_loss": 2.5}]
        saved = store.save(
            facts, config=loaded.config, parameters=moved, tokenizer=store.tokenizer_path(tiny), history=history
        )
    return saved.id


@pytest.fixture
def cancelled_inside(monkeypatch):
    """Every job is cancelled as soon as it has begun: when it looks for the second time."""
    seen = set()

    def look(job: Job) -> None:
        if job in seen:
            raise Cancelled
        seen.add(job)

    monkeypatch.setattr(Job, "look", look)


def answer(one, signal, ask, *arguments):
    with one.qtbot.waitSignal(signal) as answered:
        ask(*arguments)
    one.until(lambda: not one.state.checkpoints.busy)
    return answered.args[-1]


def test_rows_details_and_curves(program, tiny, child):
    one = program()
    checkpoints = one.state.checkpoints
    assert [row.name for row in checkpoints.rows] == ["child", "tiny"]
    assert [(node.row.name, node.depth, node.parent) for node in checkpoints.lineage] == [
        ("tiny", 0, ""),
        ("child", 1, tiny),
    ]
    details = answer(one, checkpoints.details_ready, checkpoints.details, child)
    assert details.row.held_out_loss == 2.5 and details.options == {"steps": 5} and "child" in details.card
    assert details.curve.losses.tolist() == [3.0] and details.parameters > 1000
    curves = answer(one, checkpoints.histories_ready, checkpoints.histories, [tiny, child])
    assert [curve.held_out_losses.tolist() for curve in curves] == [[], [2.5]]
    assert [choice.id for choice in one.state.completion.model_choices] == [child, tiny]


def test_comparing_merging_and_precisions(program, tiny, child, store):
    one = program()
    checkpoints = one.state.checkpoints
    told = []
    checkpoints.progressed.connect(lambda *far: told.append(far))
    compared = answer(one, checkpoints.compared, checkpoints.compare, tiny, child)
    assert max(done for done, total, what in told if "Comparing" in what) > 3
    assert compared.changed_share > 0.9 and compared.heat_maps["relative_l2"].values.shape[0] == 2
    merged = answer(one, checkpoints.merged, checkpoints.merge, tiny, child, 0.25, "blend")
    assert merged.child_name == "blend" and merged.child_loss is None
    one.until(lambda: checkpoints.row(merged.child) is not None)
    assert checkpoints.row(merged.child).parents == (tiny, child)
    lines = []
    checkpoints.precision_measured.connect(lambda id, line: lines.append(line))
    table = answer(one, checkpoints.precisions_ready, checkpoints.precisions, child)
    assert tuple(lines) == table and any(line.largest_error for line in table)


def test_what_needs_the_device_is_measured_there(program, repository, tiny, child):
    one = program()
    checkpoints = one.state.checkpoints
    one.open(repository)
    tried = answer(one, checkpoints.blend_measured, checkpoints.try_blend, tiny, child, 0.5, str(repository))
    assert tried.child == "" and None not in (tried.first_loss, tried.second_loss, tried.child_loss)
    merged = answer(one, checkpoints.merged, checkpoints.merge, tiny, child, 0.5, "measured", str(repository))
    assert merged.child_loss == pytest.approx(tried.child_loss)
    one.until(lambda: checkpoints.row(merged.child) is not None)
    assert checkpoints.row(merged.child).held_out_loss == pytest.approx(tried.child_loss)
    table = answer(one, checkpoints.precisions_ready, checkpoints.precisions, tiny, str(repository))
    assert table[0].held_out_loss == pytest.approx(tried.first_loss, abs=1e-4)
    assert one.failures == []


def test_changing_deleting_and_bringing_back(program, child):
    one = program()
    checkpoints = one.state.checkpoints
    checkpoints.rename(child, "better name")
    checkpoints.note(child, "mine")
    checkpoints.tag(child, ("a", "b"))
    checkpoints.pin(child, True)
    one.until(lambda: checkpoints.row(child).pinned)
    row = checkpoints.row(child)
    assert (row.name, row.note, row.tags) == ("better name", "mine", ("a", "b"))
    trashed = answer(one, checkpoints.deleted, checkpoints.delete, child)
    one.until(lambda: checkpoints.row(child) is None)
    assert trashed.id == child and [item.id for item in checkpoints.trash] == [child]
    checkpoints.undo_delete(trashed)
    one.until(lambda: checkpoints.row(child) is not None)
    assert checkpoints.trash == ()
    assert one.failures == []


def test_export_and_import(program, child, tmp_path):
    one = program()
    checkpoints = one.state.checkpoints
    assert {"hf", "gguf", "coil"} <= set(checkpoints.export_formats)
    done = answer(one, checkpoints.exported, checkpoints.export, child, "coil", tmp_path / "child.coil")
    assert done.nbytes > 0
    answer(one, checkpoints.deleted, checkpoints.delete, child)
    checkpoints.empty_trash()
    told = []
    checkpoints.progressed.connect(lambda *far: told.append(far))
    row = answer(one, checkpoints.imported, checkpoints.import_, done.path)
    assert any(total > 0 and "Importing" in what for _, total, what in told)
    assert row.id == child and checkpoints.row(child).name == "child"


@pytest.fixture
def result(folder, tiny, tmp_path, monkeypatch):
    """The folder of a hand-off with a result; a scorecard is of two lines, so that it takes a second."""
    monkeypatch.setattr("app.workers.measuring.CURSORS", 2)
    monkeypatch.setattr("app.workers.measuring.CHARACTERS", 1_000)
    root = tmp_path / "shop"
    root.mkdir()
    for name in ("price", "weight", "stock", "age", "rank", "size"):
        write_file(root, name)
    done = hand_off(HandoffPlan(root, folder, OPTIONS.changed(mode="wsla"), tiny), tmp_path / "out")
    device = open_device("cpu")
    trained_elsewhere(done.path, device)
    device.close()
    return done.path


def test_the_result_of_a_hand_off_is_imported_and_scored(program, store, result, monkeypatch):
    """On the device of the window, which stays open: there, teaching to fill in would be tried out."""
    devices = []

    def opening(*arguments, open_device, look, **more):
        with open_device() as device:
            look()
            devices.append(device)
        return import_any(*arguments, open_device=open_device, look=look, **more)

    monkeypatch.setattr("engine.handoff.import_any", opening)
    one, rows = program(), []
    checkpoints = one.state.checkpoints
    checkpoints.imported.connect(rows.append)
    found = answer(one, checkpoints.result_imported, checkpoints.import_, result)
    assert [row.id for row in rows] == [found.row.id] and one.failures == []
    assert found.row.name == "shop #1" and checkpoints.row(found.row.id).mode == "wsla"
    kept = store.get(found.row.id).metrics
    assert (found.before, found.after) == (kept["score_bits_per_byte_before"], kept["score_bits_per_byte"])
    assert [device.name for device in devices] == ["cpu"] and found.problem == ""
    again = answer(one, checkpoints.result_imported, checkpoints.import_, result)
    assert again.row.id == found.row.id and again.after is None and store.get(found.row.id).metrics == kept


def test_a_scorecard_that_is_cancelled_leaves_the_checkpoint(program, store, result, monkeypatch):
    def waiting(*arguments, cancelled, **more):
        while not cancelled():
            time.sleep(0.005)
        raise ScoreCancelledError("")

    monkeypatch.setattr("engine.handoff.score_result", waiting)
    one, scored = program(), []
    checkpoints = one.state.checkpoints
    checkpoints.result_imported.connect(scored.append)
    checkpoints.imported.connect(lambda row: checkpoints.cancel())
    row = answer(one, checkpoints.imported, checkpoints.import_, result)
    assert checkpoints.row(row.id).name == "shop #1" and "score_loss" not in store.get(row.id).metrics
    assert scored == [] and one.failures == []


def test_a_result_without_its_folder_says_why_it_has_no_scorecard(program, result, tmp_path):
    (tmp_path / "shop").rename(tmp_path / "moved")
    one = program()
    checkpoints = one.state.checkpoints
    found = answer(one, checkpoints.result_imported, checkpoints.import_, result)
    assert "is not there any more" in found.problem and checkpoints.row(found.row.id) and one.failures == []


def test_verify_finds_a_flipped_byte(program, child, store):
    one = program()
    checkpoints = one.state.checkpoints
    assert answer(one, checkpoints.verified, checkpoints.verify, child).findings == ()
    path = store.folder_of(child) / "model.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    assert "model.safetensors" in answer(one, checkpoints.verified, checkpoints.verify, child).findings[0]


def test_what_goes_wrong_is_told_and_the_next_job_is_done(program, child, tmp_path):
    one = program()
    checkpoints = one.state.checkpoints
    checkpoints.rename(child, "")
    checkpoints.import_(tmp_path / "nothing")
    use = answer(one, checkpoints.disk_use_ready, checkpoints.measure_disk_use)
    assert use.checkpoints > 0 and use.free > 0 and len(one.failures) == 2
    assert "does not exist" in one.failures[1].cause and not checkpoints.busy


def test_what_was_fetched_in_part_is_counted_and_deleted(program, data_folder):
    one = program()
    checkpoints, kept = one.state.checkpoints, data_folder / "downloads" / "mamba-130m"
    kept.mkdir(parents=True)
    (kept / "model.safetensors.0123456789abcdef.part").write_bytes(bytes(5000))
    before = answer(one, checkpoints.disk_use_ready, checkpoints.measure_disk_use)
    after = answer(one, checkpoints.disk_use_ready, checkpoints.delete_downloads)
    assert (before.downloads, after.downloads) == (5000, 0) and not kept.exists()
    assert before.other < 5000 or before.other == after.other  # counted once
    again = answer(one, checkpoints.disk_use_ready, checkpoints.delete_downloads)
    assert again.downloads == 0 and one.failures == []


def test_models_of_other_programs_are_found_imported_by_name_and_estimated(
    program, tmp_path, tokenizer_path, monkeypatch
):
    monkeypatch.setattr("app.data.model_folders.model_folders", lambda: [("LM Studio", tmp_path / "models")])
    (tmp_path / "models").mkdir()
    written(tmp_path / "models", tokenizer_path, "qwen2", "f16")
    one, found = program(), []
    downloads, checkpoints = one.state.downloads, one.state.checkpoints
    downloads.model_found.connect(found.append)
    assert answer(one, downloads.search_ended, downloads.find_models) == 1
    assert (found[0].short_name, found[0].architecture, found[0].problem) == ("qwen2", "qwen2", "")
    row = answer(one, checkpoints.imported, checkpoints.import_, found[0].path, "coder")
    assert row.name == "coder"
    monkeypatch.setattr("app.network.base_models.BASE_MODELS", BASE_MODELS[-1:])
    name = answer(one, downloads.memory_estimated, downloads.estimate_memory)
    memory, batch = downloads.memory[name]
    assert name == BASE_MODELS[-1].name and memory["full"] > memory["lora"] and "256" in batch
    assert one.failures == []


def test_disk_use_is_told_by_what_it_is_for(program, data_folder):
    one = program()
    sizes = {
        "repositories/0123/memory/abc/index": ("memory", 7000),
        "repositories/0123/files.journal": ("lists", 600),
        "runs/r1/state.safetensors": ("runs", 50_000),
        "tokens/abc/0001.u16": ("tokens", 400),
        "sample/tidewater/a.py": ("sample", 30),
        "codecoil.log": ("other", 2000),
    }
    checkpoints = one.state.checkpoints
    before = answer(one, checkpoints.disk_use_ready, checkpoints.measure_disk_use)
    for path, (_, size) in sizes.items():
        (data_folder / path).parent.mkdir(parents=True, exist_ok=True)
        (data_folder / path).write_bytes(bytes(size))
    after = answer(one, checkpoints.disk_use_ready, checkpoints.measure_disk_use)
    grown = {kind: getattr(after, kind) - getattr(before, kind) for kind, _ in sizes.values()}
    assert grown == dict(sizes.values())
    assert after.total - before.total == sum(size for _, size in sizes.values())


def test_a_cancelled_job_leaves_nothing(program, child, folder, cancelled_inside):
    one = program()
    checkpoints = one.state.checkpoints
    checkpoints.duplicate(child, "copy")
    one.until(lambda: not checkpoints.busy)
    assert [row.name for row in checkpoints.rows] == ["child", "tiny"] and one.failures == []
    assert list((folder / "checkpoints" / "work").glob("*")) == []


@pytest.mark.parametrize("format", ["hf", "gguf", "coil"])
def test_an_export_tells_how_far_it_is_and_can_be_ended(program, child, store, tmp_path, format):
    from engine.checkpoints.formats.exporting import export_checkpoint

    told = []
    whole = tmp_path / "whole"
    export_checkpoint(store, child, format, whole, full=True, report=lambda *far: told.append(far))
    assert whole.exists() and len(told) > 2 and told[-1][0] == told[-1][1] > 0
    assert told[0][0] < told[0][1]

    class Enough(Exception):
        pass

    def end(done: int, total: int) -> None:
        if done > total // 2:
            raise Enough

    with pytest.raises(Enough):
        export_checkpoint(store, child, format, tmp_path / "half", full=True, report=end)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith((".", "half"))] == []


@pytest.mark.parametrize("job", ["verify", "export", "compare", "details", "histories", "disk_use"])
def test_what_may_take_long_is_cancelled(program, tiny, child, tmp_path, cancelled_inside, job):
    one = program()
    checkpoints = one.state.checkpoints
    answers = []
    checkpoints.verified.connect(answers.append)
    checkpoints.exported.connect(answers.append)
    checkpoints.compared.connect(answers.append)
    checkpoints.details_ready.connect(answers.append)
    checkpoints.histories_ready.connect(answers.append)
    checkpoints.disk_use_ready.connect(answers.append)
    ended = []
    checkpoints.cancelled.connect(ended.append)
    if job == "verify":
        checkpoints.verify(child)
    elif job == "compare":
        checkpoints.compare(tiny, child)
    elif job == "export":
        checkpoints.export(child, "hf", tmp_path / "out")
    elif job == "details":
        checkpoints.details(child)
    elif job == "histories":
        checkpoints.histories([child])
    else:
        checkpoints.measure_disk_use()
    assert checkpoints.cancellable
    one.until(lambda: not checkpoints.busy)
    assert answers == [] == one.failures and not (tmp_path / "out").exists() and ended == [job]


def test_only_what_can_be_cancelled_says_so(qapp):
    jobs = PlayedJobs()
    checkpoints = CheckpointController(jobs)
    assert not checkpoints.cancellable
    checkpoints.rename("a", "b")
    checkpoints.verify("a")
    assert not checkpoints.cancellable  # the first one is being done
    played_jobs.answer(jobs, "rename")
    assert checkpoints.cancellable
    played_jobs.answer(jobs, "verify", VerifyView("a", "a"))
    assert not checkpoints.cancellable and not checkpoints.busy
    checkpoints.try_blend("a", "b", 0.5, "/somewhere")
    checkpoints.refresh()
    assert checkpoints.cancellable
    played_jobs.answer(jobs, "try_blend", cancelled=True)
    assert not checkpoints.cancellable and checkpoints.busy


def test_what_a_killed_writer_left_is_tidied(program, folder, repository):
    make_tiny_base(folder, repository)
    left = folder / "checkpoints" / "work" / "abandoned"
    left.mkdir(parents=True)
    (left / "half").write_text("x")
    program()
    assert not left.exists()
