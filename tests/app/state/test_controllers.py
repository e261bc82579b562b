"""Controllers alone, without workers: what they refuse, remember and report."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.data.settings_file import USUAL_LEAST_CHANCE
from app.state.choices import base_choices, model_choices, timelines
from app.state.completion import CompletionController
from app.state.engine import EngineController
from app.state.memory import MemoryController
from app.state.run_history import RunHistory
from app.state.settings import Settings
from app.state.training import TrainingController
from app.values.checkpoints import CheckpointRow
from app.values.completion import IN_TRAINING, STARTER, CompletionView, ModelChoice
from app.values.engine import RaceEnded, RaceLine
from app.values.memory import READY, MemoryView
from app.values.training import ResumableRun
from engine.generate.options import SUGGESTION_STOPS, Sampling
from engine.train.events import EvaluationEvent, NoteEvent, StepEvent
from engine.train.options import PRESETS
from tests.app.played_jobs import PlayedJobs, record


@pytest.fixture
def settings(qapp, folder):
    return Settings(folder)


def step(number: int, **memory: int) -> StepEvent:
    return StepEvent(number, 5.0 / number, 1e-3, 0.5, 100.0, 9.0, memory, number != 2)


def test_history_grows_and_keeps_what_was_read():
    history = RunHistory()
    history.add(EvaluationEvent(0, 7.0, True))
    history.add(step(1, weights=5))
    early = history.loss
    for number in range(2, 2000):
        history.add(step(number, weights=5, gradients=number))
    history.add(NoteEvent(3, "Something."))
    assert len(history) == 1999 and history.loss[-1] == pytest.approx(5.0 / 1999)
    assert early.tolist() == [5.0] and not early.flags.writeable
    assert history.memory["gradients"][:2].tolist() == [0.0, 2.0]
    assert all(len(column) == 1999 for column in history.memory.values())
    assert (history.begin_loss, history.skipped_steps) == (7.0, [2])
    assert [(note.step, note.words) for note in history.notes] == [(3, "Something.")]


def test_options_refuse_in_words_and_ask_for_a_plan(settings, qtbot):
    jobs = PlayedJobs()
    training = TrainingController(settings, jobs)
    with qtbot.waitSignal(jobs.asked) as asked:
        assert training.set_option("steps", 77) == ""
    (job,) = asked.args
    assert job.name == "plan" and job.arguments[0].options["steps"] == 77 and training.preset == "custom"
    assert "batch_size" in training.set_option("batch_size", 0)
    assert "no option" in training.set_option("nonsense", 1)
    assert training.options.steps == 77
    training.choose_preset("quick")
    assert training.preset == "quick" == settings.preset and training.options.steps != 77


def test_a_preset_keeps_the_mode(settings):
    training = TrainingController(settings, PlayedJobs())
    training.set_mode("wsla")
    training.choose_preset("thorough")
    assert training.mode == "wsla"


def test_mode_preset_and_sampling_are_as_they_were(settings):
    training, completion = TrainingController(settings, PlayedJobs()), CompletionController(settings, PlayedJobs())
    assert training.set_mode("wsla") == "" and training.set_mode("no such") != ""
    training.choose_preset("quick")
    assert completion.set_sampling("temperature", 0.7) == "" == completion.set_stops("end_of_line", True)
    assert completion.set_sampling("top_p", 7.0) != ""
    settings.save()
    again = Settings(settings.path.parent)
    training, completion = TrainingController(again, PlayedJobs()), CompletionController(again, PlayedJobs())
    assert (training.mode, training.preset) == ("wsla", "quick")
    assert completion.sampling == Sampling(temperature=0.7) and completion.stops == replace(
        SUGGESTION_STOPS, end_of_line=True
    )


def test_options_that_were_changed_by_hand_are_as_they_were_until_a_preset_is_chosen(settings):
    training = TrainingController(settings, PlayedJobs())
    training.choose_preset("quick")
    assert training.set_option("steps", 77) == "" == training.set_option("learning_rate", 2e-4)
    settings.save()
    again = TrainingController(Settings(settings.path.parent), PlayedJobs())
    assert again.preset == "custom"
    assert (again.options.steps, again.options.learning_rate) == (77, 2e-4)
    assert again.options.batch_size == PRESETS["quick"].batch_size
    again.choose_preset("thorough")
    again._settings.save()
    last = TrainingController(Settings(settings.path.parent), PlayedJobs())
    assert (last.preset, last.options.steps) == ("thorough", PRESETS["thorough"].steps)


@pytest.mark.parametrize("own", ['{"steps": "-5"}', '{"no such": "1"}', '{"steps": "{"}', '{"steps": 7}'])
def test_own_options_that_cannot_be_are_as_if_never_set(settings, own):
    settings.path.write_text(f'{{"preset": "quick", "training_options": {own}}}')
    training = TrainingController(Settings(settings.path.parent), PlayedJobs())
    assert training.options == PRESETS["quick"].changed(duty_cycle=1.0) and training.preset == "quick"


def test_a_mode_or_a_sampling_that_cannot_be_is_as_if_never_set(settings):
    settings.path.write_text('{"training_mode": "no such", "sampling_temperature": -1, "sampling_seed": "x"}')
    again = Settings(settings.path.parent)
    assert TrainingController(again, PlayedJobs()).mode == PRESETS["balanced"].mode
    assert CompletionController(again, PlayedJobs()).sampling == Sampling()


def test_nothing_starts_without_a_folder(settings):
    jobs = PlayedJobs()
    training, asked = TrainingController(settings, jobs), record(jobs)
    training.start()
    assert training.start_problem == "Choose a folder first." and training.phase == "idle" and asked == []


def test_the_duty_cycle_of_the_settings_reaches_a_run(settings):
    jobs = PlayedJobs()
    training, asked = TrainingController(settings, jobs), record(jobs)
    settings.duty_cycle = 0.4
    assert training.options.duty_cycle == 0.4 and asked == [("set_duty_cycle", 0.4)]


def test_the_run_that_goes_on_is_not_offered_again(settings):
    training = TrainingController(settings, PlayedJobs())
    training.phase, training.run = "running", "abc"
    runs = tuple(ResumableRun(run, "/x", "", "lora", 1, 2, 0.0) for run in ("abc", "def"))
    training.on_runs(runs)
    assert [run.id for run in training.resumable] == ["def"]


def test_the_model_that_was_chosen_is_the_one_of_the_next_start(settings):
    CompletionController(settings, PlayedJobs()).choose_model("mine")
    completion = CompletionController(settings, PlayedJobs())
    completion.on_choices((ModelChoice(STARTER, "s"),), listed=False)
    completion.on_training(True)
    assert completion.model == "mine"  # the store has not been read: nobody knows whether it is there
    completion.on_choices((ModelChoice(STARTER, "s"), ModelChoice("mine", "m")))
    assert completion.model == "mine"
    completion.on_choices((ModelChoice(STARTER, "s"),))
    assert completion.model == STARTER  # deleted meanwhile


def test_a_list_from_before_a_model_was_saved_does_not_lose_it(settings):
    completion = CompletionController(settings, PlayedJobs())
    completion.on_choices((ModelChoice(STARTER, "s"),))
    completion.choose_model("new")  # the result of a run, which is in use at once
    completion.on_choices((ModelChoice(STARTER, "s"),))
    completion.on_choices((ModelChoice(STARTER, "s"), ModelChoice("new", "n")))
    assert completion.model == settings.model == "new"


def test_a_model_in_training_gives_way_to_the_one_before_it(settings):
    completion = CompletionController(settings, PlayedJobs())
    completion.on_choices((ModelChoice(STARTER, "s"), ModelChoice("mine", "m")))
    completion.choose_model("mine")
    completion.on_training(True)
    completion.choose_model(IN_TRAINING)
    assert settings.model == "mine"
    completion.on_training(False)
    assert completion.model == "mine"


def test_the_model_in_training_stays_chosen_when_the_run_saves_a_checkpoint(settings):
    completion = CompletionController(settings, PlayedJobs())
    completion.on_choices((ModelChoice(STARTER, "s"),))
    completion.on_training(True)
    completion.choose_model(IN_TRAINING)
    completion.choose_second(STARTER)
    seen = []
    completion.changed.connect(lambda: seen.append(completion.model))
    completion.on_choices((ModelChoice(STARTER, "s"), ModelChoice("new", "n")))  # the store is listed again
    completion.on_training(True)
    assert completion.model == IN_TRAINING and set(seen) == {IN_TRAINING} and completion.second == STARTER
    assert [choice.id for choice in completion.model_choices] == [IN_TRAINING, STARTER, "new"]
    completion.choose_second(IN_TRAINING)
    completion.on_choices((ModelChoice(STARTER, "s"),))
    assert completion.second == IN_TRAINING
    completion.on_training(False)
    assert completion.model == STARTER and completion.second == ""


def test_memory_and_least_chance_go_with_the_question(settings):
    completion, asked = CompletionController(settings, PlayedJobs()), []
    completion.query_wanted.connect(asked.append)
    completion.choose_second("other")

    def ask(channel: str, **more) -> tuple[str, bool, float]:
        completion.request("a", channel=channel, **more)
        return asked[-1].model, asked[-1].memory, asked[-1].least_chance

    assert ask("ghost") == (STARTER, True, USUAL_LEAST_CHANCE) and ask("ghost", least_chance=0.0)[2] == 0.0
    settings.least_chance, settings.memory_on = 0.8, False
    assert ask("ghost") == (STARTER, False, 0.8)
    for channel, expected in (
        ("left", (STARTER, False, 0.0)),
        ("left_memory", (STARTER, True, 0.0)),
        ("right", ("other", False, 0.0)),
        ("right_memory", ("other", True, 0.0)),
        ("timeline", (STARTER, False, 0.0)),
    ):
        assert ask(channel) == expected


def test_the_memory_is_told_once_and_switched_in_the_settings(settings):
    memory, told, switched = MemoryController(settings), [], []
    memory.memory_changed.connect(told.append)
    memory.switched.connect(switched.append)
    assert not memory.is_there and memory.is_on
    view = MemoryView(1_200_000, 40, 9_000_000, READY)
    memory.on_memory(view)
    memory.on_memory(view)
    memory.switch(False)
    assert told == [view] and memory.is_there and switched == [False] and settings.memory_on is False


def test_a_newer_request_overtakes_the_one_before(settings):
    completion = CompletionController(settings, PlayedJobs())
    cancelled, answered = [], []
    completion.cancel_wanted.connect(cancelled.append)
    completion.completed.connect(lambda ticket, view: answered.append(ticket))
    first = completion.request("a")
    other = completion.request("a", channel="left")
    second = completion.request("ab")
    assert cancelled == [first]
    completion.on_completed(CompletionView(first, "ghost", STARTER, "late"))
    assert answered == []
    completion.on_completed(CompletionView(second, "ghost", STARTER, "right"))
    completion.on_completed(CompletionView(other, "left", STARTER, "too"))
    assert answered == [second, other] and not completion.busy


def test_channels_ask_their_models(settings):
    completion = CompletionController(settings, PlayedJobs())
    completion.on_choices((ModelChoice(STARTER, "s"), ModelChoice("a" * 32, "a")))
    completion.choose_second("a" * 32)
    completion.set_blend(0.3)
    asked = []
    completion.query_wanted.connect(asked.append)
    for channel in ("ghost", "left", "right"):
        completion.request("x", channel=channel)
    completion.request("x", channel="left", model="b" * 32)
    assert [(query.model[0], query.blend) for query in asked] == [("s", 0.3), ("s", 0.0), ("a", 0.0), ("b", 0.0)]


def test_sampling_refuses_in_words(settings):
    completion = CompletionController(settings, PlayedJobs())
    assert completion.set_sampling("temperature", 0.7) == "" and completion.sampling.temperature == 0.7
    assert "from 0 to 1" in completion.set_sampling("top_p", 2)
    assert completion.sampling.top_p == 1.0


def test_a_model_that_is_gone_is_no_longer_chosen(settings):
    completion = CompletionController(settings, PlayedJobs())
    completion.on_choices((ModelChoice(STARTER, "s"), ModelChoice("x", "x")))
    completion.choose_model("x")
    completion.choose_second("x")
    completion.on_choices((ModelChoice(STARTER, "s"),))
    assert (completion.model, completion.second) == (STARTER, "")
    completion.on_training(True)
    assert completion.choice(IN_TRAINING) and completion.model == STARTER


def test_choices_leave_out_what_cannot_be_chosen():
    rows = (
        CheckpointRow("1", "shop #1", mode="lora", run="r", step=9, held_out_loss=1.5),
        CheckpointRow("2", "shop at step 4", mode="lora", run="r", step=4, tags=("timeline",)),
        CheckpointRow("3", "broken", problem="damaged"),
        CheckpointRow("4", STARTER, mode="import"),
    )
    assert [choice.id for choice in model_choices(rows, False)] == ["1", "4"]
    assert model_choices(rows, True)[0].id == STARTER
    assert [choice.name for choice in base_choices(rows[:1], False)] == ["New small model", "shop #1"]
    assert model_choices(rows, False)[0].words == "LoRA, step 9, held-out loss 1.500"
    assert [(point.id, point.final) for point in timelines(rows)["r"]] == [("2", False), ("1", True)]


def test_the_winner_of_a_race_is_used_and_remembered(settings):
    from app.values.events import EngineFound
    from engine.devices import Choice, DeviceInfo

    devices = (DeviceInfo("cpu", "A processor", "", "cpu"), DeviceInfo("webgpu:0", "A card", "", "discrete"))
    found = EngineFound(devices, Choice(devices[1], "the discrete GPU"), ())
    engine = EngineController(settings, PlayedJobs())
    engine.on_engine_found(found)
    assert engine.in_use.name == "webgpu:0"
    engine.on_race_ended(RaceEnded((RaceLine("cpu", "A processor", 900.0), RaceLine("webgpu:0", "A card", 300.0))))
    assert engine.in_use.name == "cpu" and "fastest of 2" in engine.reason
    again = EngineController(settings, PlayedJobs())
    again.on_engine_found(found)
    assert again.in_use.name == "cpu"
    again.choose("webgpu:0")
    assert again.in_use.name == "webgpu:0" and again.reason == "chosen by you"


def test_the_base_is_remembered_until_it_is_gone(settings, folder):
    bases = base_choices((CheckpointRow("c", "coder", mode="import"),), True)
    training = TrainingController(settings, PlayedJobs())
    training.on_bases(bases)
    training.choose_base("c")
    settings.save()
    again = TrainingController(Settings(folder), PlayedJobs())
    again.on_bases(bases)
    assert again.base == "c"
    again.on_bases(bases[:1])
    assert again.base == "" and again._settings.base == ""
