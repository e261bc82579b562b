"""The options of `codecoil train`: those of the engine's table, and none that --resume would have to ignore."""

import os

import pytest

from app.command_line import build_parser, main, train
from app.command_line.train_options import OF_A_NEW_RUN, given_options
from app.data.data_folder import VARIABLE
from engine.checkpoints.store.store import CheckpointStore, Facts
from engine.train.options import OPTIONS, PASSES_OVER_CHANGES, PRESETS

QUICK = PRESETS["quick"].steps
NOT_FOR_A_NEW_RUN_ALONE = {"json", "device", "resume", "data_dir", "handler"}
VALUES = {
    "weight-decay": 0.3,
    "beta1": 0.5,
    "beta2": 0.7,
    "epsilon": 1e-4,
    "max-gradient-norm": 2.5,
    "warm-up": 3,
    "schedule": "linear",
    "evaluations": 4,
    "evaluate-every": 2,
    "trust-region": 0.25,
    "insight-interval": 6,
    "skip-below": 0.1,
}


@pytest.mark.parametrize("name", OPTIONS)
def test_every_option_of_the_engine_is_read_as_the_engine_wants_it(name):
    """Its default, given as text, is a value that the engine takes."""
    value = OPTIONS[name].default
    arguments = build_parser().parse_args(["train", ".", OF_A_NEW_RUN[name], str(value)])
    assert given_options(arguments)[name] == value and type(getattr(arguments, name)) is type(value)


def test_the_help_has_the_choices_and_presets_of_the_table(capsys):
    with pytest.raises(SystemExit):
        main(["train", "--help"])
    out = capsys.readouterr().out
    assert all(choice in out for info in OPTIONS.values() for choice in info.choices)
    assert all(preset in out for preset in PRESETS)


class NoSession:
    """Takes the place of a session, and has nothing to close."""

    def close(self) -> None: ...


@pytest.fixture
def plan_of(monkeypatch, tmp_path):
    """The plan that arguments lead to; nothing is trained."""
    plans = []
    monkeypatch.setattr("engine.devices.single_kernel.warm_up", lambda device, report: None)
    monkeypatch.setattr("engine.session.Session", lambda plan, *more, **named: plans.append(plan) or NoSession())
    monkeypatch.setattr(train, "train", lambda session, show: 0)

    def plan(*arguments):
        assert main(["train", str(tmp_path), "--device", "cpu", *arguments]) == 0
        return plans[-1]

    return plan


def test_options_reach_the_engine(plan_of):
    words = [word for name, value in VALUES.items() for word in (f"--{name}", str(value))]
    plan = plan_of("--preset", "balanced", "--timeline", "3", *words)
    wanted = {name.replace("-", "_"): value for name, value in VALUES.items()}
    assert plan.options == PRESETS["balanced"].changed(**wanted) and plan.timeline == 3


@pytest.mark.parametrize(
    ("arguments", "limits"),
    [
        (["--steps", "7"], (7, 0, 0)),
        (["--minutes", "0.5"], (0, 0, 0.5)),
        (["--epochs", "2"], (0, 2, 0)),
        (["--steps", "7", "--minutes", "1"], (7, 0, 1)),
        ([], (QUICK, 0, 0)),
    ],
)
def test_a_length_that_is_given_takes_the_place_of_the_presets(arguments, limits, plan_of):
    options = plan_of(*arguments).options
    assert (options.steps, options.epochs, options.minutes) == limits


@pytest.mark.parametrize(
    ("arguments", "mode", "limits"),
    [
        ([], "lora", (0, PASSES_OVER_CHANGES, 0)),
        (["--mode", "wsla", "--epochs", "2"], "wsla", (0, 2, 0)),
        (["--steps", "7"], "lora", (7, 0, 0)),
    ],
)
def test_changes_are_learned_as_in_the_window(arguments, mode, limits, plan_of, tiny_base, data_folder):
    """In the mode of the checkpoint, with as many passes, unless something else was asked for."""
    store = CheckpointStore(data_folder / "checkpoints")
    config, parameters = store.config(tiny_base.id), store.load_parameters(tiny_base.id)
    store.save(Facts("adapted", "lora"), config=config, parameters=dict(parameters))
    options = plan_of("--changed-since", "adapted", *arguments).options
    assert options.mode == mode and (options.steps, options.epochs, options.minutes) == limits
    if not arguments:
        assert options == PRESETS["quick"].for_changes("lora")


def test_where_nothing_is_said_the_quick_preset_is_taken(plan_of):
    plan = plan_of()
    assert plan.options == PRESETS["quick"] and plan.timeline == 0 and plan.base == plan.changed_since == ""


def test_every_option_is_either_for_a_new_run_or_goes_with_resume():
    names = set(vars(build_parser().parse_args(["train"])))
    assert names == {*OF_A_NEW_RUN, *NOT_FOR_A_NEW_RUN_ALONE}


@pytest.mark.parametrize("name", OF_A_NEW_RUN)
def test_what_resume_would_ignore_is_refused_by_name(name, capsys):
    words = OF_A_NEW_RUN[name]
    assert main(["train", "--resume", "abc", *(["nowhere"] if name == "path" else [words, "0"])]) == 2
    assert f" {words}:" in capsys.readouterr().err


def test_all_that_is_refused_is_named(capsys):
    assert main(["train", "nowhere", "--resume", "abc", "--mode", "lora", "--steps", "3"]) == 2
    assert "PATH, --mode, --steps:" in capsys.readouterr().err


def test_resume_goes_with_device_json_and_data_folder(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("engine.devices.single_kernel.warm_up", lambda device, report: None)
    folder = str(tmp_path / "elsewhere")
    assert main(["train", "--resume", "abc", "--device", "cpu", "--json", "--data-dir", folder]) == 2
    assert "no interrupted run abc" in capsys.readouterr().err and os.environ[VARIABLE] == folder
