"""From a folder to a checkpoint, and on again after an interruption."""

import json

import numpy as np
import pytest

from app.command_line import main
from engine.checkpoints.store import CheckpointStore
from engine.errors import CheckpointError
from engine.session import Session, SessionPlan, resume_session
from engine.train.events import CheckpointEvent, EvaluationEvent, FinishedEvent, StepEvent
from engine.train.options import TrainingOptions
from engine.train.saved_run import load_run

OPTIONS = TrainingOptions(
    mode="full", steps=6, batch_size=2, sequence_length=32, learning_rate=1e-2, warm_up=1, evaluations=3
)


def numbers(events):
    return [(e.step, e.loss) for e in events if isinstance(e, StepEvent)] + [
        (e.step, e.held_out_loss) for e in events if isinstance(e, EvaluationEvent)
    ]


def ran(session):
    try:
        return list(session.run())
    finally:
        session.close()


def test_a_folder_becomes_a_checkpoint_that_is_better_on_held_out_code(repository, data_folder, cpu):
    events = ran(Session(SessionPlan(repository, data_folder, OPTIONS), cpu))
    finished, saved = events[-2:]
    assert isinstance(finished, FinishedEvent) and finished.held_out_after < finished.held_out_before
    assert isinstance(saved, CheckpointEvent) and saved.name == "shop #1"
    store = CheckpointStore(data_folder / "checkpoints")
    manifest = store.get(saved.checkpoint)
    assert manifest.metrics["held_out_loss"] == pytest.approx(finished.held_out_after)
    assert store.verify(manifest.id) == []
    assert next(line["event"] for line in store.history(manifest.id)) == "plan"
    assert not list((data_folder / "runs").glob("*"))
    assert cpu.ledger.total == 0


@pytest.mark.parametrize("mode", ["wsla", "lora"])
def test_a_small_mode_leaves_a_delta_on_its_base(mode, repository, data_folder, cpu):
    first = ran(Session(SessionPlan(repository, data_folder, OPTIONS), cpu))[-1]
    second = ran(Session(SessionPlan(repository, data_folder, OPTIONS.changed(mode=mode), base=first.name), cpu))[-1]
    store = CheckpointStore(data_folder / "checkpoints")
    manifest = store.get(second.checkpoint)
    assert manifest.kind == "delta" and manifest.base.id == first.checkpoint
    base, changed = (dict(store.load_parameters(m)) for m in (first.checkpoint, second.checkpoint))
    moved = {name for name in base if not np.array_equal(base[name], changed[name])}
    wanted = ("x_proj.weight",) if mode == "wsla" else ("in_proj.weight", "out_proj.weight")
    assert moved and all(name.endswith(wanted) for name in moved)


def test_a_run_that_was_killed_goes_on_with_the_same_losses(repository, data_folder, cpu):
    whole = ran(Session(SessionPlan(repository, data_folder, OPTIONS), cpu))
    base = CheckpointStore(data_folder / "checkpoints").get("new model for shop").id
    session = Session(SessionPlan(repository, data_folder, OPTIONS, base), cpu)
    first = []
    for event in session.run():
        first.append(event)
        if isinstance(event, StepEvent) and event.step == 3:
            break
    session.save_progress()
    run = session.run_id
    session.close()
    second = ran(resume_session(run, data_folder, lambda: cpu))
    assert sorted(numbers(first + second)) == sorted(numbers(whole))
    with pytest.raises(CheckpointError, match="no interrupted run"):
        load_run(data_folder / "runs", run)


def test_a_flipped_byte_in_a_saved_run_is_refused_by_name(repository, data_folder, cpu):
    session = Session(SessionPlan(repository, data_folder, OPTIONS), cpu)
    session.save_progress()
    session.close()
    path = data_folder / "runs" / f"{session.run_id}.safetensors"
    damaged = bytearray(path.read_bytes())
    damaged[-5] ^= 1
    path.write_bytes(damaged)
    with pytest.raises(CheckpointError, match=path.name):
        resume_session(session.run_id, data_folder, lambda: cpu)


def test_the_command_prints_one_event_a_line(repository, capsys):
    code = main(
        [
            "train",
            str(repository),
            "--device",
            "cpu",
            "--steps",
            "3",
            "--batch-size",
            "2",
            "--sequence-length",
            "32",
            "--json",
        ]
    )
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert code == 0
    assert lines[0]["event"] == "plan" and lines[0]["run"] and lines[-1]["event"] == "checkpoint"
    assert {line["event"] for line in lines} >= {"plan", "step", "evaluation", "finished", "checkpoint"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--steps", "0"], "steps is 0"),
        (["--mode", "loud"], "mode is 'loud'"),
        (["--preset", "slow"], "no preset 'slow'"),
        (["--base", "nothing"], "nothing"),
    ],
)
def test_what_cannot_be_is_refused_in_words(arguments, words, repository, capsys):
    assert main(["train", str(repository), "--device", "cpu", *arguments]) == 2
    assert words in capsys.readouterr().err


def test_an_empty_folder_says_what_to_do(tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    assert main(["train", str(tmp_path / "empty"), "--device", "cpu"]) == 2
    assert "codecoil" in capsys.readouterr().err
