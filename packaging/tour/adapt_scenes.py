"""Scenes on the Adapt page: the plan of a run, the run, a pause, the result, changed files, leaving during a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from app.values.words import counted
from app.window.pages import ADAPT, REPOSITORY
from tour.camera import LARGE
from tour.simulated_user import SceneFailed

if TYPE_CHECKING:
    from tour.scenes import Tour

CHANGED = ("tidewater/ledgers/tugs.py", "tidewater/ledgers/pilots.py")
LONG = 100_000  # steps of a run that is never finished
A_FEW = 5  # steps after which there is something worth saving
ADDED = '''
    def lamp_oil(self, dusk: float, dawn: float, *, new_moon: bool = False) -> dict[str, float]:
        """Litres that one night on the roads burns, by name; without a moon a fifth more."""
        hours = (dawn - dusk) % 24.0
        litres = 0.35 * hours * (1.2 if new_moon else 1.0)
        return {each.name: round(litres, 2) for each in self.fetch_many()}

    def write_off(self, names: Sequence[str], surveyor: str, reason: str = "worn out") -> int:
        """Strikes several at once on a surveyor's word; gives how many there were."""
        struck = [name for name in names if self.delete(name)]
        with open("written_off.csv", "a", encoding="utf-8") as sheet:
            for name in struck:
                sheet.write(f"{name};{surveyor};{reason}\\n")
        return len(struck)
'''  # enough new code: a file that the model predicts well is not trained on again


def set_up(tour: Tour) -> str:
    """Mode, preset and options, with the memory and time they need."""
    training, user = tour.state.training, tour.user
    setup = tour.go_to(ADAPT).setup
    user.until(lambda: not training.planning and training.plan is not None, "plan a run", lambda: training.planning)
    tour.camera.take("modes", both=True)
    user.click(setup.presets.presets.buttons["quick"])
    user.click(setup.modes.cards["full"])
    user.click(setup.fold)
    _enter(tour, tour.size.options)
    user.until(lambda: not training.planning, "plan the run")
    tour.camera.take("options")
    user.click(setup.fold)
    if training.start_problem:
        raise SceneFailed(training.start_problem)
    plan = training.plan
    return f"{plan.mode}, {counted(plan.steps, 'step')} of {plan.tokens_per_step:,} tokens"


def run(tour: Tour) -> str:
    """Live plots of a run."""
    training = tour.state.training
    page = tour.window.page(ADAPT)
    tour.user.click(page.setup.preflight.start_button)
    half = training.plan.steps // 2
    _until(tour, lambda: training.phase == "running" and training.step >= half, "train half of the run")
    tour.camera.take("running", both=True)
    tour.camera.take_in(LARGE, "running")
    return f"step {training.step} of {training.steps}, {training.history.tokens_per_second[-1]:,.0f} tokens/s"


def pause(tour: Tour) -> str:
    """Pause after a step, then resume."""
    training, header = tour.state.training, tour.window.page(ADAPT).run_header
    if not training.active:
        raise SceneFailed("the run ended before it could be paused")
    tour.user.click(header.pause_button)
    tour.user.until(
        lambda: training.phase == "paused" and tour.state.engine.activity == "Paused",
        "pause the run",
        broken=lambda: "" if training.active else "it ended first",
    )
    tour.camera.take("paused")
    paused_at = training.step
    tour.user.click(header.pause_button)
    _until(tour, lambda: training.step > paused_at or not training.active, "resume after the pause")
    return f"at step {paused_at}"


def finish(tour: Tour) -> str:
    """Before and after, on code that was held out."""
    training = tour.state.training
    _until(tour, lambda: training.phase == "finished", "train to the end")
    if not training.finished.checkpoint:
        raise SceneFailed("the run did not improve on its start")
    _note_checkpoint(tour)
    tour.user.until(
        lambda: training.after is not None and not training.scoring[1],
        "measure the scorecard",
        lambda: training.scoring,
        lambda: training.score_problem,
    )
    tour.camera.take("result", both=True)
    finished = training.finished
    return f"held-out loss {finished.held_out_before:.3f} before, {finished.held_out_after:.3f} after"


def change_files(tour: Tour) -> str:
    """Two files are edited on disk, and the watcher notices."""
    repository, user = tour.state.repository, tour.user
    page = tour.go_to(REPOSITORY)
    made = tour.seen.checkpoints[-1]
    user.until(lambda: repository.changes.checkpoint == made, "record the files that the checkpoint was trained on")
    for name in CHANGED:
        with Path(repository.root, name).open("a", encoding="utf-8") as file:
            file.write(ADDED)
    user.until(lambda: repository.changes.files == len(CHANGED), "notice the changed files", lambda: repository.changes)
    user.until(lambda: repository.phase == "ready" and page.banner.adapt_button.isEnabled(), "offer to adapt")
    user.click(page.banner.show_button)
    tour.camera.take("changes", both=True)
    return f"{counted(repository.changes.files, 'file')}, {counted(repository.changes.lines, 'line')}"


def adapt_to_changes(tour: Tour) -> str:
    """A short run on what changed, with older code mixed in; kept only if held-out code got better."""
    training = tour.state.training
    tour.user.click(tour.window.page(REPOSITORY).banner.adapt_button)
    _until(tour, lambda: training.active, "start the run")
    _until(tour, lambda: training.phase == "finished", "train to the end")
    if training.finished.checkpoint:
        _note_checkpoint(tour)
    tour.camera.take("adapted")
    return tour.window.page(ADAPT).result.title.text()


def leave(tour: Tour) -> str:
    """Closing the window during a run asks first; then it stops, saves and closes."""
    training, window = tour.state.training, tour.window
    page = tour.go_to(ADAPT)
    if training.phase == "finished":
        tour.user.click(page.result.again_button)
    tour.user.click(page.setup.fold)
    _enter(tour, {"steps": str(LONG)})
    tour.user.until(lambda: not training.planning, "plan another run")
    tour.user.click(page.setup.preflight.start_button)
    _until(tour, lambda: training.phase == "running" and training.step >= A_FEW, "start another run")
    window.close()
    tour.user.until(lambda: window.closing_bar.isVisible(), "be asked before closing")
    tour.camera.take("leaving")
    words = window.closing_bar.words.text()
    tour.user.click(window.closing_bar.stop_button)
    _until(tour, lambda: not window.isVisible(), "stop, save and close")
    return words


def _enter(tour: Tour, options: dict[str, str]) -> None:
    """Type options into the drawer."""
    drawer = tour.window.page(ADAPT).setup.drawer
    for name, words in options.items():
        field = drawer.fields[name]
        tour.user.enter(field.control, words)
        if field.error.text():
            raise SceneFailed(field.error.text())


def _note_checkpoint(tour: Tour) -> None:
    """Note the checkpoint that the run made, once it is listed."""
    made = tour.state.training.finished.checkpoint
    tour.user.until(lambda: tour.state.checkpoints.row(made) is not None, "list the checkpoint")
    tour.seen.checkpoints.append(made)


def _until(tour: Tour, reached, what: str) -> None:
    """Wait while a run makes progress; give up once it has failed."""
    training = tour.state.training
    tour.user.until(
        reached,
        what,
        lambda: (training.phase, training.step, training.preparing, tour.state.engine.activity),
        lambda: training.failure.cause if training.phase == "failed" else "",
    )
