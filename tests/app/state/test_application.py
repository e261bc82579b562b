"""The whole program without its window, on the real engine: read, adapt, complete, keep."""

from __future__ import annotations

import threading

import pytest
from PySide6.QtCore import QThread

from app.values.completion import BUILT_IN, IN_TRAINING, STARTER
from engine.train.options import RATES
from tests.app.state.program import write_repository


def test_a_folder_is_read_adapted_and_completed(program, repository, tiny):
    one = program()
    state = one.state
    one.open(repository)
    corpus = state.repository.corpus
    assert corpus.has_tokens and corpus.totals.learned.files == 10 and corpus.totals.held_out.files >= 2
    assert state.repository.recent == [str(repository)]
    one.small_options(tiny)
    one.until(lambda: not state.training.planning and state.training.plan is not None)
    assert state.training.plan.problem == "" and state.training.plan.memory["gradients"] > 0
    assert set(state.training.mode_plans) == set(state.training.modes)
    one.run_to_end()
    assert state.training.phase == "finished", one.failures
    finished = state.training.finished
    assert finished.held_out_after < finished.held_out_before
    assert state.training.history.step.tolist() == list(range(1, 9))
    assert state.training.history.begin_loss == pytest.approx(finished.held_out_before)
    one.until(lambda: state.checkpoints.row(finished.checkpoint) is not None)
    one.until(lambda: state.training.after is not None)
    assert state.training.after.loss < state.training.before.loss
    one.until(lambda: set(state.repository.losses) == {row.path for row in corpus.files if row.held_out})
    assert state.completion.model == finished.checkpoint  # in use at once
    state.training.go_back()
    assert state.completion.model == tiny
    state.training.use()
    assert state.completion.model == finished.checkpoint and state.training.model_before == tiny
    with one.qtbot.waitSignal(state.completion.completed) as answered:
        ticket = state.completion.request("class Shelf", "", "shelf_1.py")
    assert answered.args[0] == ticket and answered.args[1].prompt_tokens > 0
    assert answered.args[1].model == finished.checkpoint
    assert one.failures == []


def test_the_model_in_use_is_in_use_again_after_a_restart(program, tiny, with_starter):
    first = program()
    assert first.state.completion.model == STARTER
    first.state.completion.choose_model(tiny)
    first.state.stop()
    second = program()
    second.until(lambda: second.state.completion.choice(tiny))
    assert second.state.completion.model == tiny


def test_a_completion_is_answered_during_training(program, repository, tiny):
    one = program()
    state = one.state
    one.open(repository)
    one.small_options(tiny, steps=100_000)
    state.training.start()
    one.until(lambda: state.training.step > 2)
    assert state.completion.choice(IN_TRAINING) is not None
    state.completion.choose_model(IN_TRAINING)
    before = state.training.step
    with one.qtbot.waitSignal(state.completion.completed) as answered:
        state.completion.request("def step_", "", "shelf_1.py")
    assert answered.args[1].model == IN_TRAINING
    one.until(lambda: state.training.step > before)  # the run went on
    assert state.engine.activity.startswith("Training step") and state.engine.tokens_per_second > 0
    assert state.engine.memory.by_kind["gradients"] > 0
    state.training.stop()
    one.until(lambda: state.training.phase == "finished")
    assert state.training.finished.reason == "stopped"
    one.until(lambda: state.completion.choice(IN_TRAINING) is None)
    one.until(lambda: "gradients" not in state.engine.memory.by_kind)


def test_pause_holds_and_resume_goes_on(program, repository, tiny):
    one = program()
    training = one.state.training
    one.open(repository)
    one.small_options(tiny, steps=100_000)
    training.start()
    one.until(lambda: training.step > 1)
    training.pause()
    one.until(lambda: one.state.engine.activity == "Paused")
    held = training.step
    with one.qtbot.waitSignal(one.state.completion.completed):
        one.state.completion.request("def step_", "", "shelf_1.py")  # the engine's thread has had many turns by then
    assert training.phase == "paused" and training.step == held
    training.resume()
    one.until(lambda: training.step > held)
    training.pause()
    training.stop()  # also out of a pause
    one.until(lambda: training.phase == "finished")


def test_after_resuming_the_engine_no_longer_says_that_it_is_paused(program, repository, tiny, qapp, monkeypatch):
    """At once: also before the first step, and however long the next thing takes."""
    from engine.session.session import Session

    plain, entered, go_on = Session.advance, threading.Event(), threading.Event()

    def wait(self):
        entered.set()
        go_on.wait()
        return plain(self)

    monkeypatch.setattr(Session, "advance", lambda self: [] if self.history else plain(self))
    one = program()
    training = one.state.training
    one.open(repository)
    one.small_options(tiny)
    training.start()
    one.until(lambda: training.phase == "running")
    training.pause()
    one.until(lambda: one.state.engine.activity == "Paused")
    monkeypatch.setattr(Session, "advance", wait)
    training.resume()
    try:
        one.until(entered.is_set)
        qapp.processEvents()
        assert one.state.engine.activity != "Paused"
        assert training.phase == "running" and training.step == 0
    finally:
        go_on.set()
    one.until(lambda: not training.active)


@pytest.mark.parametrize("paused", [False, True])
def test_a_suspended_run_is_resumed_at_the_next_start_where_it_was(program, repository, tiny, held_run, paused):
    one = program()
    training = one.state.training
    one.open(repository)
    one.small_options(tiny, steps=40)
    training.start()
    one.until(lambda: training.step == 5)
    if paused:
        training.pause()
    training.suspend()
    one.until(lambda: not training.active)
    reached = training.step
    assert training.phase == "idle" and training.finished is None and one.failures == []
    one.until(lambda: training.resumable)
    one.state.stop()
    other = program()
    other.until(lambda: other.state.training.resumable)
    (run,) = other.state.training.resumable
    assert run.step == reached == 5 and run.problem == ""
    held_run.set()
    other.state.training.resume_run(run.id)
    other.until(lambda: not other.state.training.active)
    assert other.state.training.phase == "finished", other.failures
    assert list(other.state.training.history.step) == list(range(1, 41))


def test_a_run_that_is_given_up_while_it_is_prepared_leaves_nothing(program, repository, tiny):
    one = program()
    training = one.state.training
    one.open(repository)
    one.small_options(tiny)
    training.start()
    training.stop()
    one.until(lambda: not training.active)
    assert training.phase == "idle" and training.finished is None and one.failures == []
    one.until(lambda: one.state.engine.activity == "Idle")
    assert [row.name for row in one.state.checkpoints.rows] == ["tiny"]


def test_stopping_the_program_saves_the_run(program, repository, tiny, folder):
    from engine.checkpoints.store.store import CheckpointStore

    one = program()
    one.open(repository)
    one.small_options(tiny, steps=100_000)
    one.state.training.start()
    one.until(lambda: one.state.training.step > 3)
    one.state.stop()
    store = CheckpointStore(folder / "checkpoints")
    names = [manifest.name for manifest in store.list() if not manifest.is_snapshot]
    assert "shelves #1" in names


def test_a_run_that_was_killed_is_found_and_goes_on(program, repository, tiny, folder, held_run):
    """What a kill leaves is the saved run; the next start offers it."""
    one = program()
    state = one.state
    one.open(repository)
    one.small_options(tiny, steps=40)
    state.training.start()
    one.until(lambda: state.training.step == 5 and list((folder / "runs").glob("*.safetensors")))
    saved = {path: path.read_bytes() for path in (folder / "runs").glob("*.safetensors")}
    held_run.set()
    state.stop()
    for path, content in saved.items():  # as a kill at that moment would have left it
        path.write_bytes(content)
    other = program()
    other.until(lambda: other.state.training.resumable)
    (run,) = other.state.training.resumable
    assert run.root == str(repository) and run.mode == "full" and run.problem == ""
    other.state.training.resume_run(run.id)
    other.until(lambda: not other.state.training.active)
    assert other.state.training.phase == "finished", other.failures
    history = other.state.training.history
    assert history.begin_loss is not None  # the line where it began is in the plot again
    assert list(history.step) == list(range(1, 1 + len(history))) and history.step[-1] == 40
    assert other.state.training.finished.run == run.id
    other.until(lambda: not other.state.training.resumable)


def test_a_failing_run_is_told_in_words_and_another_can_start(program, repository, tiny, monkeypatch):
    from engine.errors import DeviceError
    from engine.session.session import Session

    plain = Session.advance

    def advance(self):
        if self.trainer.step == 3:
            raise DeviceError("The device is gone.", "Plug it in.")
        return plain(self)

    monkeypatch.setattr(Session, "advance", advance)
    one = program()
    training = one.state.training
    one.open(repository)
    one.small_options(tiny)
    one.run_to_end()
    assert training.phase == "failed" and training.failure.cause == "The device is gone."
    monkeypatch.setattr(Session, "advance", plain)
    one.run_to_end()
    assert training.phase == "finished"


def test_the_result_can_be_discarded(program, repository, tiny):
    one = program()
    state = one.state
    one.open(repository)
    one.small_options(tiny)
    one.run_to_end()
    made = state.training.finished.checkpoint
    one.until(lambda: state.checkpoints.row(made) is not None)
    state.training.discard()
    one.until(lambda: state.checkpoints.row(made) is None)
    assert state.training.phase == "idle" and [item.id for item in state.checkpoints.trash if item.id == made]


def test_a_run_is_scored_on_the_folder_that_it_learned(program, repository, tiny, tmp_path, monkeypatch):
    """Also where another one was opened during the run, whose heat colours stay away."""
    import engine.scorecard

    roots = set()
    for name in ("held_out_material", "every_held_out_file"):
        plain = getattr(engine.scorecard, name)
        monkeypatch.setattr(
            engine.scorecard, name, lambda corpus, *more, plain=plain: roots.add(corpus.root) or plain(corpus, *more)
        )
    other = write_repository(tmp_path / "other", 9)
    one = program()
    state = one.state
    one.open(repository)
    one.small_options(tiny, steps=100_000)
    state.training.start()
    one.until(lambda: state.training.step > 3)
    one.open(other)
    state.training.stop()
    one.until(lambda: state.training.phase == "finished")
    one.until(lambda: (state.training.after and not state.training.scoring[1]) or state.training.score_problem)
    assert roots == {repository} and state.training.score_problem == ""
    assert state.repository.root == str(other) and state.repository.losses == {}
    state.repository.score_files()
    one.until(lambda: not state.repository.scoring[1])
    assert roots == {repository, other} and len(state.repository.losses) >= 2


def test_changes_are_counted_and_adapted_to(program, repository, tiny, folder):
    one = program()
    state = one.state
    one.open(repository)
    one.small_options(tiny, mode="lora")
    one.run_to_end()
    made = state.training.finished.checkpoint
    one.until(lambda: state.repository.changes.checkpoint == made)
    assert state.repository.changes.files == 0
    one.until(lambda: list(folder.rglob(f"lines-{made}.npy")))  # what the files were like is on record
    path = repository / "shelf_3.py"
    path.write_text(path.read_text() + "def added_one():\n    return 'one more line'\n")
    one.until(lambda: state.repository.changes.any)
    assert state.repository.changes.paths == ("shelf_3.py",) and state.repository.changes.lines == 2
    assert state.repository.changes.seconds > 0
    state.training.adapt_to_changes()
    one.until(lambda: not state.training.active)
    assert state.training.phase == "finished", one.failures
    rates = state.training.history.rate
    assert 0 < max(rates) <= 0.1 * RATES["lora"], "it goes gently: the rest is known already"


def test_models_are_blended_live(program, repository, tiny, folder):
    """0 is the first model, 1 the second, and in between is neither."""
    one = program()
    state = one.state
    one.open(repository)
    one.small_options(tiny, steps=60, learning_rate=0.02)
    one.run_to_end()
    made = state.training.finished.checkpoint
    one.until(lambda: state.completion.choice(made) is not None)
    state.completion.set_sampling("temperature", 1.0)
    state.completion.set_stops("max_tokens", 24)
    state.completion.set_stops("end_of_block", False)
    answers = {}
    for model, second, blend in ((tiny, "", 0.0), (made, "", 0.0), (tiny, made, 1.0), (tiny, made, 0.5)):
        state.completion.choose_model(model)
        state.completion.choose_second(second)
        state.completion.set_blend(blend)
        with one.qtbot.waitSignal(state.completion.completed) as answered:
            state.completion.request("def step_1(", "", "shelf_1.py")
        answers[model == tiny, blend] = answered.args[1].text
    assert answers[True, 1.0] == answers[False, 0.0] != answers[True, 0.0]
    assert answers[True, 0.5] not in (answers[True, 0.0], answers[False, 0.0])


def test_nothing_of_the_engine_runs_in_the_gui_thread(program, repository, tiny, monkeypatch):
    import engine.corpus.repository
    from engine.session.session import Session

    threads = {}

    def noting(owner, name):
        plain = getattr(owner, name)

        def noted(*arguments, **named):
            threads.setdefault(name, set()).add(QThread.currentThread().objectName())
            return plain(*arguments, **named)

        monkeypatch.setattr(owner, name, noted)

    noting(Session, "advance")
    noting(engine.corpus.repository.Repository, "list_files")
    one = program()
    one.open(repository)
    one.small_options(tiny)
    one.run_to_end()
    assert threads == {"advance": {"engine"}, "list_files": {"repository"}}


def test_the_built_in_model_answers_is_adapted_and_blended(program, repository, with_starter):
    one = program()
    state = one.state
    one.until(lambda: state.completion.choice(STARTER) is not None)
    assert state.completion.model == STARTER and [base.name for base in state.training.bases] == ["Built-in model"]
    with one.qtbot.waitSignal(state.completion.completed) as answered:
        state.completion.request("class Shelf")
    assert answered.args[1].model == STARTER
    one.open(repository)
    one.small_options(mode="lora")
    one.run_to_end()
    assert state.training.phase == "finished", one.failures
    one.until(lambda: state.completion.choice(state.training.finished.checkpoint) is not None)
    assert [choice.name for choice in state.completion.model_choices] == ["Built-in model", "shelves #1"]
    assert [(row.name, row.built_in) for row in state.checkpoints.rows if row.mode == "base"] == [(BUILT_IN, True)]
    adapted = state.checkpoints.row(state.training.finished.checkpoint)
    assert adapted.base_name == BUILT_IN and not adapted.built_in
    with one.qtbot.waitSignal(state.checkpoints.details_ready) as told:
        state.checkpoints.details(adapted.id)
    assert "Built-in model" in told.args[0].card and "starter" not in told.args[0].card
    state.training.compare()
    assert (state.completion.model, state.completion.second) == (state.training.finished.checkpoint, STARTER)
    state.completion.set_blend(0.5)
    with one.qtbot.waitSignal(state.completion.completed) as answered:
        state.completion.request("class Shelf")
    assert one.failures == []
