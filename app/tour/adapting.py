"""Stations: what a run will take, the run, a pause, the result; later the changed files, and leaving during a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from app.tour.camera import LARGE
from app.tour.hands import StationMissed
from app.values.words import counted
from app.window.pages import ADAPT, REPOSITORY

if TYPE_CHECKING:
    from app.tour.guide import Tour

CHANGED = ("tidewater/ledgers/tugs.py", "tidewater/ledgers/pilots.py")
LONG = 100_000  # steps of a run that nobody waits for
A_FEW = 5  # after so many steps of a run it has something worth saving
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
'''  # enough that is new: a file that the model predicts well is not learned again


def set_up(tour: Tour) -> str:
    """Mode, preset and options, with what they will take."""
    training, hands = tour.state.training, tour.hands
    setup = tour.go_to(ADAPT).setup
    hands.until(lambda: not training.planning and training.plan is not None, "plan a run", lambda: training.planning)
    tour.camera.take("modes", both=True)
    hands.click(setup.presets.presets.buttons["quick"])
    hands.click(setup.modes.cards["full"])
    hands.click(setup.fold)
    _enter(tour, tour.size.options)
    hands.until(lambda: not training.planning, "plan the run")
    tour.camera.take("options")
    hands.click(setup.fold)
    if training.start_problem:
        raise StationMissed(training.start_problem)
    plan = training.plan
    return f"{plan.mode}, {counted(plan.steps, 'step')} of {plan.tokens_per_step:,} tokens"


def run(tour: Tour) -> str:
    """Plots that grow."""
    training = tour.state.training
    page = tour.window.page(ADAPT)
    tour.hands.click(page.setup.preflight.start_button)
    half = training.plan.steps // 2
    _until(tour, lambda: training.phase == "running" and training.step >= half, "train half of the run")
    tour.camera.take("running", both=True)
    tour.camera.take_in(LARGE, "running")
    return f"step {training.step} of {training.steps}, {training.history.tokens_per_second[-1]:,.0f} tokens/s"


def pause(tour: Tour) -> str:
    """Held after a step; nothing is lost."""
    training, header = tour.state.training, tour.window.page(ADAPT).run_header
    if not training.active:
        raise StationMissed("the run was over before it could be paused")
    tour.hands.click(header.pause_button)
    tour.hands.until(
        lambda: training.phase == "paused" and tour.state.engine.activity == "Paused",
        "pause the run",
        broken=lambda: "" if training.active else "it was over before",
    )
    tour.camera.take("paused")
    held = training.step
    tour.hands.click(header.pause_button)
    _until(tour, lambda: training.step > held or not training.active, "go on after the pause")
    return f"at step {held}"


def finish(tour: Tour) -> str:
    """Before and after, on code that was held out."""
    training = tour.state.training
    _until(tour, lambda: training.phase == "finished", "train to the end")
    if not training.finished.checkpoint:
        raise StationMissed("the run made nothing better than the start")
    _remember(tour)
    tour.hands.until(
        lambda: training.after is not None and not training.scoring[1],
        "measure the scorecard",
        lambda: training.scoring,
        lambda: training.score_problem,
    )
    tour.camera.take("result", both=True)
    finished = training.finished
    return f"held-out loss {finished.held_out_before:.3f} before, {finished.held_out_after:.3f} after"


def change_files(tour: Tour) -> str:
    """Two files are edited, as in any editor; the watcher counts it."""
    repository, hands = tour.state.repository, tour.hands
    page = tour.go_to(REPOSITORY)
    made = tour.seen.checkpoints[-1]
    hands.until(lambda: repository.changes.checkpoint == made, "remember the files as the checkpoint has them")
    for name in CHANGED:
        with Path(repository.root, name).open("a", encoding="utf-8") as file:
            file.write(ADDED)
    hands.until(
        lambda: repository.changes.files == len(CHANGED), "notice the changed files", lambda: repository.changes
    )
    hands.until(lambda: repository.phase == "ready" and page.banner.adapt_button.isEnabled(), "offer to adapt")
    hands.click(page.banner.show_button)
    tour.camera.take("changes", both=True)
    return f"{counted(repository.changes.files, 'file')}, {counted(repository.changes.lines, 'line')}"


def adapt_to_changes(tour: Tour) -> str:
    """A short run on what changed, with older code mixed in; where nothing was better after it, nothing is kept."""
    training = tour.state.training
    tour.hands.click(tour.window.page(REPOSITORY).banner.adapt_button)
    _until(tour, lambda: training.active, "begin the run")
    _until(tour, lambda: training.phase == "finished", "train to the end")
    if training.finished.checkpoint:
        _remember(tour)
    tour.camera.take("adapted")
    return tour.window.page(ADAPT).result.title.text()


def leave(tour: Tour) -> str:
    """The question that a window asks when it is closed during a run; then it stops, saves, and goes."""
    training, window = tour.state.training, tour.window
    page = tour.go_to(ADAPT)
    if training.phase == "finished":
        tour.hands.click(page.result.again_button)
    tour.hands.click(page.setup.fold)
    _enter(tour, {"steps": str(LONG)})
    tour.hands.until(lambda: not training.planning, "plan another run")
    tour.hands.click(page.setup.preflight.start_button)
    _until(tour, lambda: training.phase == "running" and training.step >= A_FEW, "begin another run")
    window.close()
    tour.hands.until(lambda: window.closing_bar.isVisible(), "be asked before leaving")
    tour.camera.take("leaving")
    words = window.closing_bar.words.text()
    tour.hands.click(window.closing_bar.stop_button)
    _until(tour, lambda: not window.isVisible(), "stop, save and leave")
    return words


def _enter(tour: Tour, options: dict[str, str]) -> None:
    """Type options into the drawer."""
    drawer = tour.window.page(ADAPT).setup.drawer
    for name, words in options.items():
        field = drawer.fields[name]
        tour.hands.enter(field.control, words)
        if field.error.text():
            raise StationMissed(field.error.text())


def _remember(tour: Tour) -> None:
    """Keep in mind what a run made, once it is listed."""
    made = tour.state.training.finished.checkpoint
    tour.hands.until(lambda: tour.state.checkpoints.row(made) is not None, "list the checkpoint")
    tour.seen.checkpoints.append(made)


def _until(tour: Tour, reached, what: str) -> None:
    """Wait for something of a run: patient while it moves, not once it has failed."""
    training = tour.state.training
    tour.hands.until(
        reached,
        what,
        lambda: (training.phase, training.step, training.preparing, tour.state.engine.activity),
        lambda: training.failure.cause if training.phase == "failed" else "",
    )
