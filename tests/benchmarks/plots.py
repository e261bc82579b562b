"""How long the plots of a run take to draw: `python tests/benchmarks/plots.py [points]`.  Prints name=value lines.

A run of 10,000 steps is on the board and keeps growing.  What is measured is what the event loop pays in one turn:
one plot brought up to date and painted, as the board's timer does it.  Offscreen, so that painting is by the processor.
Times are those of the GUI thread on its core: what else the machine does does not count.
"""

from __future__ import annotations

import math
import os
import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parent)]
os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import numpy as np  # noqa: E402
from measure import report  # noqa: E402
from PySide6.QtWidgets import QApplication  # noqa: E402

from app.state.run_history import RunHistory  # noqa: E402
from app.theme import Theme  # noqa: E402
from engine.train.events import EvaluationEvent, StepEvent  # noqa: E402

POINTS, TURNS, SIZE = 10_000, 200, (1096, 480)
MIB = 2**20


def grow(history: RunHistory, first: int, last: int, steps: int) -> None:
    """Steps as a trainer would tell them."""
    draw = np.random.default_rng(first)
    for step in range(first, last):
        if step % (steps // 10) == 0:
            history.add(EvaluationEvent(step, 3.6 + math.exp(-step / steps * 4), True))
        if step:
            loss, norm = 3.5 + math.exp(-step / steps * 4) + draw.normal() * 0.1, abs(draw.normal()) + 0.5
            memory = {"weights": 790 * MIB, "optimiser": 170 * MIB, "gradients": 110 * MIB, "activations": 820 * MIB}
            speed = 2000 + draw.normal() * 50
            history.add(StepEvent(step, loss, 3e-3 * (1 - step / steps), norm, speed, 1.0, memory, True))


def milliseconds(turns: list[float], share: float) -> float:
    """What `share` of the turns stay below."""
    return float(np.quantile(turns, share)) * 1e3


def main(points: int) -> None:
    application = QApplication([])
    theme = Theme(application, "dark")
    began = time.thread_time()
    from app.window.adapt.board import Board

    report("board_import", (time.thread_time() - began) * 1e3, "ms")
    began = time.thread_time()
    board = Board()
    board.resize(*SIZE)
    board.show()
    report("board_make", (time.thread_time() - began) * 1e3, "ms")
    history = RunHistory()
    grow(history, 0, points, 2 * points)
    board.show_run(history, 2 * points, 3 * 2**30)
    began = time.thread_time()
    board.draw_now()
    application.processEvents()
    report("first_drawing", (time.thread_time() - began) * 1e3, "ms")
    board._timer.stop()  # its ticks are made by hand

    turns: dict[str, list[float]] = {"loss": [], "memory": [], "rates": [], "speed": []}
    for turn in range(TURNS):
        grow(history, points + turn, points + turn + 1, 2 * points)
        board.mark()
        board._timer.stop()
        for name in turns:
            began = time.thread_time()
            board.on_tick()
            application.processEvents()
            turns[name].append(time.thread_time() - began)
    for name, taken in turns.items():
        report(f"redraw_{name}_p50", milliseconds(taken, 0.5), "ms")
        report(f"redraw_{name}_p95", milliseconds(taken, 0.95), "ms")
    everything = [value for taken in turns.values() for value in taken]
    report("redraw_p95", milliseconds(everything, 0.95), "ms")
    report("redraw_worst", max(everything) * 1e3, "ms")

    hover = []
    board.loss.underMouse = lambda: True  # offscreen there is no pointer to be under
    for turn in range(TURNS):
        began = time.thread_time()
        board.timeline.point(points * turn / TURNS)
        application.processEvents()
        hover.append(time.thread_time() - began)
    report("hover_p95", milliseconds(hover, 0.95), "ms")
    zoom = []
    for turn in range(20):
        began = time.thread_time()
        board.timeline.zoom_to(turn * 100.0, turn * 100.0 + 500)
        application.processEvents()
        zoom.append(time.thread_time() - began)
    report("zoom_p95", milliseconds(zoom, 0.95), "ms")
    began = time.thread_time()
    theme.choose("light" if theme.tokens.name == "dark" else "dark")
    application.processEvents()
    report("theme_switch", (time.thread_time() - began) * 1e3, "ms")
    report("points", points)
    board.close()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else POINTS)
