"""The tour: its scenes in order, and how much each of them does."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from app.desktop import Desktop
from tour import adapt_scenes, base_model_scenes, checkpoint_scenes, complete_scenes, repository_scenes, settings_scenes
from tour.camera import Camera
from tour.simulated_user import SceneFailed, SimulatedUser


@dataclass(frozen=True)
class TourSize:
    """How much is trained and shown.  The options are typed into the drawer of the Adapt page."""

    options: dict[str, str]  # of the runs, as typed
    both_themes: bool
    measures: bool  # whether the speed of base models is awaited


FULL = TourSize({"steps": "60", "evaluations": "5", "warm_up": "4", "insight_interval": "5"}, True, True)
BRIEF = TourSize(
    {"steps": "60", "evaluations": "2", "learning_rate": "1e-3", "warm_up": "1", "batch_size": "4",
     "sequence_length": "64", "duty_cycle": "0.2"}, False, False)  # slow enough to be paused  # fmt: skip


@dataclass
class Seen:
    """What later scenes need from earlier ones."""

    by_base: str = ""  # suggestions at the same cursor
    by_adapted: str = ""
    checkpoints: list[str] = field(default_factory=list)  # ids, in the order the runs made them


class Tour:
    """The window, a simulated user and a camera.  A scene is a function of a tour that returns what it saw."""

    def __init__(self, desktop: Desktop, out: Path, size: TourSize = FULL) -> None:
        self.desktop, self.window, self.state = desktop, desktop.window, desktop.state
        self.user = SimulatedUser(desktop.application, desktop.window)
        self.camera = Camera(desktop, self.user, out, size.both_themes)
        self.size = size
        self.seen = Seen()
        self.seconds = 0.0

    def take(self) -> str:
        """Play all scenes, printing a line for each; returns "" or which one failed and why."""
        self.window.activateWindow()
        for title, scene in SCENES:
            try:
                self.play(title, scene)
            except SceneFailed as failure:
                return f"{title}: {failure}"
        return ""

    def play(self, title: str, scene: Callable[[Tour], str]) -> None:
        """Play one scene and print its time, what it saw and its pictures."""
        began, pictures = time.monotonic(), len(self.camera.pictures)
        seen = scene(self)
        spent = time.monotonic() - began
        self.seconds += spent
        taken = ", ".join(path.name for path in self.camera.pictures[pictures:])
        print(f"{spent:6.1f} s  {title}: {seen}" + (f"  [{taken}]" if taken else ""), flush=True)

    def go_to(self, page: str):
        """Open a page from the rail and return it."""
        self.user.click(self.window.rail.buttons[page])
        return self.window.page(page)

    @property
    def has_model(self) -> bool:
        """Whether there is a model that can complete."""
        return self.state.completion.choice(self.state.completion.model) is not None


SCENES: tuple[tuple[str, Callable[[Tour], str]], ...] = (
    ("First start", repository_scenes.start),
    ("Base models", base_model_scenes.look_at_list),
    ("The offer is declined", base_model_scenes.decline),
    ("The sample project", repository_scenes.open_sample),
    ("Its secrets", repository_scenes.look_at_secrets),
    ("What the model does not know", repository_scenes.score_files),
    ("A suggestion before training", complete_scenes.before),
    ("Modes and options", adapt_scenes.set_up),
    ("A run", adapt_scenes.run),
    ("A pause", adapt_scenes.pause),
    ("The result", adapt_scenes.finish),
    ("A suggestion after training", complete_scenes.after),
    ("Accepting a word", complete_scenes.accept_a_word),
    ("A blend", complete_scenes.blend),
    ("Snapshots of the run", complete_scenes.step_through_run),
    ("A merge", checkpoint_scenes.try_merge),
    ("Settings", settings_scenes.settings),
    ("Device check", settings_scenes.check_device),
    ("Changed files", adapt_scenes.change_files),
    ("Adapting to changes", adapt_scenes.adapt_to_changes),
    ("Checkpoints", checkpoint_scenes.look),
    ("Drift", checkpoint_scenes.compare),
    ("Trash and undo", checkpoint_scenes.delete_and_undo),
    ("A folder that is gone", repository_scenes.lose_folder),
    ("Leaving during a run", adapt_scenes.leave),
)
# The engine does one thing at a time: scenes that need it come before the second run, whose scorecard is not awaited.
