"""How smooth the window stays: the time between two turns of its event loop while a real run goes on.

    python -m tests.benchmarks.window [--seconds 15] [--size tiny|starter] [--repository FOLDER]
        [--page Adapt] [--profile] [--abuse]

A timer of 4 ms stands for a user's input: what lies between two of its ticks is what a key press may have to wait.
`gap` is that time on the clock, with all that others take of the machine and of Python's lock; `cpu` is what the
window's own thread computed in it, which is what its code can answer for.  Prints name=value lines: a part each for the
start, for reading the repository, for settling (pages are made ahead), for preparing and for training (with completions
asked for meanwhile).  Offscreen; a data folder of its own.  With --profile, what the window's thread spends its time on
while it trains.  With --abuse, nothing is trained: the window's server for editors is attacked by `server_abuse.py`
from another process.
"""

from __future__ import annotations

import argparse
import contextlib
import cProfile
import os
import pstats
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
TICK = 4  # milliseconds
PATIENCE = 120.0  # seconds


def main() -> None:
    """Start, read, train; measure each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=15.0, help="of training")
    parser.add_argument("--size", choices=("tiny", "starter"), default="tiny", help="of the model that is trained")
    parser.add_argument("--repository", type=Path, help="instead of a small one that is written for this")
    parser.add_argument("--page", default="Adapt", help="that is shown during training")
    parser.add_argument("--profile", action="store_true", help="print where the window's thread spends its time")
    parser.add_argument("--abuse", action="store_true", help="attack the server for editors instead of training")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="codecoil-window-") as place:
        os.environ["CODECOIL_DATA"] = f"{place}/data"
        measure(Path(place), arguments)


def measure(place: Path, arguments: argparse.Namespace) -> None:
    from app.data.data_folder import data_folder
    from app.desktop import open_desktop
    from tests.app.state.program import make_tiny_base, write_repository

    repository = write_repository(place / "shelves", 12)
    if arguments.repository:
        shutil.copytree(arguments.repository, place / "copied")
        repository = place / "copied"
    base = "" if arguments.size == "starter" else make_tiny_base(data_folder(), write_repository(place / "words"))
    began = time.perf_counter()
    desktop = open_desktop(data_folder())
    desktop.application.processEvents()
    print(f"window_shown_ms={1e3 * (time.perf_counter() - began):.0f}")
    ticks = Ticks(desktop)
    state = desktop.state
    state.settings.device = "cpu"
    try:
        ticks.until(lambda: state.engine.found is not None and state.checkpoints.listed, "start")
        state.repository.open(repository)
        ticks.until(lambda: state.repository.phase == "ready", "reading")
        window = desktop.window
        ticks.until(lambda: len(window.made) == len(window.rail.buttons), "settling")  # pages are made ahead
        window.show_page(arguments.page)
        if arguments.abuse:
            abuse(desktop, ticks)
            return
        training = state.training
        training.choose_base(base)
        for name, value in {"steps": 10_000_000, "mode": "full", "evaluations": 2000}.items():
            assert not training.set_option(name, value), name
        training.start()
        ticks.until(lambda: training.step > 0, "preparing")
        end = time.perf_counter() + arguments.seconds
        asked = [end - arguments.seconds]

        def over() -> bool:
            if time.perf_counter() - asked[0] > 0.5:
                asked[0] = time.perf_counter()
                state.completion.request("class Shelf:\n    def ", "", "shelf.py")
            return time.perf_counter() > end

        first = training.step
        profile = cProfile.Profile(time.thread_time) if arguments.profile else contextlib.nullcontext()
        with profile:
            ticks.until(over, "training")
        if arguments.profile:
            pstats.Stats(profile).sort_stats("cumulative").print_stats(60)
        print(f"training_steps_per_second={(training.step - first) / arguments.seconds:.1f}")
        began = time.perf_counter()
        training.pause()
        ticks.until(lambda: state.engine.activity == "Paused")
        print(f"pause_ms={1e3 * (time.perf_counter() - began):.0f}")
        began = time.perf_counter()
        training.stop()
        ticks.until(lambda: not training.active)
        print(f"stop_and_save_ms={1e3 * (time.perf_counter() - began):.0f}")
    finally:
        desktop.close()


def abuse(desktop, ticks: Ticks) -> None:
    """The page with the list of requests is in front: each of them changes it."""
    from app.data.data_folder import data_folder

    desktop.window.show_page("Settings")
    desktop.window.page("Settings").show_part("editors")
    desktop.state.server.switch(True)
    ticks.until(lambda: desktop.state.server.is_on, "switching on")
    command = [sys.executable, Path(__file__).with_name("server_abuse.py"), "--at", data_folder(), "--seconds", "10"]
    enemy = subprocess.Popen(command)
    try:
        ticks.until(lambda: enemy.poll() is not None, "abused", 10 * PATIENCE)
    finally:
        enemy.kill()
    print(f"abuse_exit_code={enemy.wait()}")


class Ticks:
    """Times of a short timer's ticks in the GUI thread."""

    def __init__(self, desktop) -> None:
        from PySide6.QtCore import QObject, Qt, QTimer

        self._application = desktop.application
        self._times: list[tuple[float, float]] = []  # on the clock, of this thread
        self._owner = QObject()
        timer = QTimer(self._owner)
        timer.setTimerType(Qt.TimerType.PreciseTimer)
        timer.timeout.connect(self._tick)
        timer.start(TICK)

    def _tick(self) -> None:
        self._times.append((time.perf_counter(), time.thread_time()))

    def until(self, reached, name: str = "", patience: float = PATIENCE) -> None:
        """Let the window live until then; with a name, print what was measured on the way."""
        from PySide6.QtCore import QEventLoop, QTimer

        self._times = []
        loop = QEventLoop()
        look = QTimer()
        look.timeout.connect(lambda: loop.quit() if reached() else None)
        look.start(20)
        guard = QTimer()
        guard.setSingleShot(True)
        guard.timeout.connect(loop.quit)
        guard.start(int(1000 * patience))
        loop.exec()
        if not reached():
            raise TimeoutError(f"not reached within {patience:.0f} s: {name}")
        if name:
            self._report(name)

    def _report(self, name: str) -> None:
        import numpy as np

        if len(self._times) < 2:
            return
        gaps, own = 1e3 * np.diff(np.array(self._times), axis=0).T
        print(f"{name}_seconds={self._times[-1][0] - self._times[0][0]:.1f}")
        for kind, values in (("gap", gaps), ("cpu", own)):
            print(f"{name}_{kind}_p50_ms={np.percentile(values, 50):.1f}")
            print(f"{name}_{kind}_p95_ms={np.percentile(values, 95):.1f}")
            print(f"{name}_{kind}_worst_ms={values.max():.1f}")
        print(f"{name}_cpu_share={own.sum() / gaps.sum():.2f}")


if __name__ == "__main__":
    main()
