"""The tour itself: which stations there are, and how large the work at them is."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from app.desktop import Desktop
from app.tour import adapting, completing, keeping, minding, reading
from app.tour.camera import Camera
from app.tour.hands import Hands, StationMissed


@dataclass(frozen=True)
class TourSize:
    """How much is trained and shown.  A run is set up by typing these into the drawer of the Adapt page."""

    options: dict[str, str]  # of the runs, as they are typed
    both_schemes: bool


FULL = TourSize({"steps": "60", "evaluations": "5", "warm_up": "4", "insight_interval": "5"}, True)
BRIEF = TourSize(
    {"steps": "60", "evaluations": "2", "learning_rate": "1e-3", "warm_up": "1", "batch_size": "4",
     "sequence_length": "64", "duty_cycle": "0.2"}, False)  # slowly: it is to be paused  # fmt: skip


@dataclass
class Seen:
    """What the tour has seen on its way and needs later."""

    by_base: str = ""  # suggestions at the same cursor
    by_adapted: str = ""
    checkpoints: list[str] = field(default_factory=list)  # ids of what runs have made


class Tour:
    """A visitor with hands, a camera and a memory.  Stations are functions of it."""

    def __init__(self, desktop: Desktop, out: Path, size: TourSize = FULL) -> None:
        self.desktop, self.window, self.state = desktop, desktop.window, desktop.state
        self.hands = Hands(desktop.application, desktop.window)
        self.camera = Camera(desktop, self.hands, out, size.both_schemes)
        self.size = size
        self.seen = Seen()
        self.seconds = 0.0

    def take(self) -> str:
        """All stations, a line for each; "" or, in words, which one was not reached."""
        self.window.activateWindow()
        for words, station in STATIONS:
            try:
                self.visit(words, station)
            except StationMissed as missed:
                return f"{words}: {missed}"
        return ""

    def visit(self, words: str, station: Callable[[Tour], str]) -> None:
        """One station; it says in a few words what was found there."""
        began, pictures = time.monotonic(), len(self.camera.pictures)
        found = station(self)
        spent = time.monotonic() - began
        self.seconds += spent
        taken = ", ".join(path.name for path in self.camera.pictures[pictures:])
        print(f"{spent:6.1f} s  {words}: {found}" + (f"  [{taken}]" if taken else ""), flush=True)

    def go_to(self, page: str):
        """Press a line of the rail; gives the page."""
        self.hands.click(self.window.rail.buttons[page])
        return self.window.page(page)

    @property
    def has_model(self) -> bool:
        """Whether something can complete now."""
        return self.state.completion.choice(self.state.completion.model) is not None


STATIONS: tuple[tuple[str, Callable[[Tour], str]], ...] = (
    ("First start", reading.start),
    ("The sample project", reading.open_sample),
    ("Its secrets", reading.look_at_secrets),
    ("What the model does not know", reading.score_files),
    ("A suggestion before", completing.before),
    ("Modes and options", adapting.set_up),
    ("A run", adapting.run),
    ("A pause", adapting.pause),
    ("The result", adapting.finish),
    ("A suggestion after", completing.after),
    ("A word of it", completing.take_a_word),
    ("A blend", completing.blend),
    ("Along the run", completing.scrub),
    ("A merge", keeping.try_merge),
    ("Settings", minding.settings),
    ("The check of the device", minding.check_device),
    ("Changed files", adapting.change_files),
    ("Adapted to them", adapting.adapt_to_changes),
    ("Checkpoints", keeping.look),
    ("Drift", keeping.compare),
    ("The trash", keeping.delete_and_undo),
    ("A folder that is gone", minding.lose_folder),
    ("Leaving during a run", adapting.leave),
)
# The engine does one thing at a time: what needs it stands before the second run, whose scorecard nobody waits for.
