"""What train.py does, by this engine: it reads nothing but the folder, and writes what train.py writes.

PyTorch is not there in tests; `tests/benchmarks/handoff.py` runs train.py itself.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file

from engine.checkpoints.formats.hugging_face import load_folder
from engine.checkpoints.store.delta import make_delta
from engine.devices import Device
from engine.handoff.importing import Result
from engine.model.modes import ADAPTER_MODES
from engine.model.step import AdamW
from engine.train.events import EvaluationEvent, FinishedEvent, PlanEvent, StepEvent
from engine.train.options import TrainingOptions


def rows_of(folder: Path, files: list[dict[str, Any]], key: str) -> np.ndarray:
    """The rows of some files of data/, joined."""
    parts = [load_file(folder / file["file"])[key] for file in files]
    assert [len(part) for part in parts] == [file["rows"] for file in files]
    return np.concatenate(parts)


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


class OtherMachine:
    """One run over a folder that was handed off."""

    def __init__(self, folder: Path, device: Device) -> None:
        self.folder = folder
        self.run = json.loads((folder / "run.json").read_text())
        self.options = TrainingOptions(**self.run["options"])
        data, start = self.run["data"], load_file(folder / "start.safetensors")
        self.tokens = rows_of(folder, data["train"], "tokens")
        self.held_out = rows_of(folder, data["held_out"], "tokens")
        self.counted = rows_of(folder, data["held_out"], "counted")
        self.schedule = load_file(folder / data["schedule"])
        self.model, _ = load_folder(folder / "base", device)
        self.model.document_end = self.run["document_end"]
        index = [start[part["index"]] for part in self.run["trained"] if "index" in part]
        self.token_ids = index[0] if index else None
        if self.options.mode in ADAPTER_MODES:
            adapters = self.model.attach_adapters(self.options.rank)
            for name in adapters:
                adapters[name] = start[name]

    def weights(self) -> dict[str, np.ndarray]:
        """What is trained, by its name in a result."""
        model, mode = self.model, self.options.mode
        if mode == "full":
            return {name: model.parameters[name] for name in model.parameters}
        delta = make_delta(mode, model.config, model.parameters, model.adapters, token_ids=self.token_ids)
        return {name: np.array(array) for name, array in delta.tensors.items() if not name.endswith(".index")}

    def measure(self) -> float:
        return float(self.model.losses(self.held_out, self.counted).sum(dtype=np.float64) / self.counted.sum())

    def train(self) -> Path:
        """Every step of the schedule; the folder of the result."""
        o, rates = self.options, self.schedule["learning_rate"]
        b, l = o.batch_size, o.sequence_length
        before = best = self.measure()
        best_step, kept = 0, self.weights()
        events = [
            PlanEvent(o.mode, len(rates), b * l, 1, 0, {}, "elsewhere", run=self.run["handoff"]),
            EvaluationEvent(0, before, True),
        ]
        step = self.model.training_step(o.mode, b, l, 1, token_ids=self.token_ids)
        for number, rate in enumerate(rates.tolist(), 1):
            optimiser = AdamW(rate, o.beta1, o.beta2, o.epsilon, o.weight_decay, o.max_gradient_norm, o.trust_region)
            done = step.run(self.tokens[(number - 1) * b : number * b], optimiser, number)()
            events.append(
                StepEvent(number, done.loss, rate, done.gradient_norm, 1.0, 0.0, {}, True, number / len(rates))
            )
            if self.schedule["evaluated"][number]:
                loss = self.measure()
                events.append(EvaluationEvent(number, loss, loss < best))
                if loss < best:
                    best, best_step, kept = loss, number, self.weights()
        step.close()
        finished = FinishedEvent(len(rates), "all steps done", before, best, best_step, not best_step, 1.0)
        return self.write(kept, [*events, finished], finished)

    def write(self, weights: dict[str, np.ndarray], events: list, finished: FinishedEvent) -> Path:
        result = self.folder / "result"
        result.mkdir()
        save_file(
            {name: np.ascontiguousarray(array) for name, array in weights.items()}, result / "trained.safetensors"
        )
        lines = (json.dumps(event.to_json()) for event in events)
        (result / "history.jsonl").write_text("".join(f"{line}\n" for line in lines))
        values = Result(
            self.run["handoff"],
            sha256(self.folder / "run.json"),
            sha256(result / "trained.safetensors"),
            finished.step,
            finished.best_step,
            finished.reason,
            finished.held_out_before,
            finished.held_out_after,
            finished.seconds,
            2,
        )
        (result / "result.json").write_text(json.dumps(asdict(values)))
        return result

    def close(self) -> None:
        self.model.close()


def trained_elsewhere(folder: Path, device: Device) -> Path:
    """The result of the hand-off in `folder`."""
    machine = OtherMachine(folder, device)
    try:
        return machine.train()
    finally:
        machine.close()
