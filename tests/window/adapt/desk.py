"""The real controllers with no worker behind them: a test says what a worker would have answered."""

from __future__ import annotations

import math
from dataclasses import replace

from PySide6.QtCore import QObject

from app.values.training import PlanView
from engine.train.events import EvaluationEvent, LayerEvent, LayerInsight, NoteEvent, StepEvent
from tests.app.played_jobs import PlayedJobs

MIB = 2**20
CEILING = 3 * 2**30


class Desk(QObject):
    """The controllers of `app.state.application.Application`, and nothing that computes."""

    def __init__(self, folder) -> None:
        from app.state.checkpoints import CheckpointController
        from app.state.completion import CompletionController
        from app.state.engine import EngineController
        from app.state.repository import RepositoryController
        from app.state.settings import Settings
        from app.state.training import TrainingController

        super().__init__()
        self.settings = Settings(folder, self)
        self.jobs = PlayedJobs(self)
        self.engine = EngineController(self.settings, self.jobs, self)
        self.repository = RepositoryController(self.settings, self.jobs, self)
        self.training = TrainingController(self.settings, self.jobs, self)
        self.completion = CompletionController(self.settings, self.jobs, self)
        self.checkpoints = CheckpointController(self.jobs, self)

    def open_folder(self, root: str = "/somewhere/orbit-api") -> None:
        """As if a folder had been read and planned for."""
        from app.values.repository import Amount, ChangesSince, CorpusTotals, CorpusView
        from app.values.training import BaseChoice

        amounts = CorpusTotals(Amount(350, 9000, 0), Amount(312, 8000, 1_400_000), Amount(31, 900, 9), Amount(38, 9, 0))
        self.repository.root = root
        self.repository.on_corpus(CorpusView(root, (), (), (), amounts, has_tokens=True), True)
        self.training.on_repository(root, ChangesSince())
        self.training.on_bases((BaseChoice("", "Built-in model", ""), BaseChoice("c1", "orbit-api #1", "lora")))
        self.plan()

    def plan(self, problem: str = "", unsuited: str = "qk", **speed) -> None:
        """As if the worker had answered; `unsuited`: the mode that trains nothing in the chosen model.

        `speed`: `tokens_per_second` and `speed_basis` of the plan.
        """
        self.training._plan_timer.stop()
        plans = {mode: plan_of(mode) for mode in self.training.modes}
        mode = self.training.mode
        plans[mode] = replace(plan_of(mode, problem), **speed)
        plans[unsuited] = PlanView(unsuited, problem=f"Mode {unsuited} has nothing to train here.", suits=False)
        self.training.on_planned((plans[mode], plans), self.training._plan_request())

    def begin(self, steps: int = 0) -> None:
        """Start a run and let it take some steps."""
        self.training.start()
        self.training.on_began("run-1", plan_of(self.training.mode))
        self.training.on_events(tuple(events(steps)))

    def finish(self, rolled_back: bool = False) -> None:
        """End the run."""
        from app.values.training import FinishedView

        kept = {} if rolled_back else {"checkpoint": "c2", "checkpoint_name": "orbit-api #2"}
        after = 4.5 if rolled_back else 3.6
        best = 0 if rolled_back else 40
        self.training.on_finished(
            FinishedView("run-1", "all steps done", 50, best, 4.5, after, rolled_back, 83, **kept)
        )


def plan_of(mode: str, problem: str = ""):
    """A plan of 100 steps."""
    memory = {"weights": 790 * MIB, "optimiser": 170 * MIB, "gradients": 110 * MIB, "activations": 820 * MIB}
    return PlanView(mode, 100, 8.0, 2048, 4, 2, 5_400_000, memory, CEILING, "a device", problem)


def events(steps: int, every: int = 10, first: int = 0):
    """What a trainer reports in this many steps: losses fall, norms fluctuate."""
    for step in range(first, steps + 1):
        if step % every == 0:
            yield EvaluationEvent(step, 3.5 + math.exp(-step / 30), True)
        if step:
            memory = {"weights": 8 * MIB, "optimiser": 2 * MIB, "activations": 6 * MIB, "workspace": 0}
            loss, norm = 3.4 + math.exp(-step / 30) + 0.1 * math.sin(step * 7), 1 + 0.2 * math.sin(step)
            yield StepEvent(step, loss, 3e-3 * (1 - step / 1000), norm, 2000.0 + step, 90.0, memory, True, step / 100)


def layers(step: int = 20, count: int = 4):
    return LayerEvent(step, tuple(LayerInsight(i, 1e-3 / (i + 1), 2e-4 * (i + 1), 0.1 * i) for i in range(count)))


def note(step: int, words: str):
    return NoteEvent(step, words)
