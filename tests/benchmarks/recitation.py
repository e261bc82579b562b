"""How much a run learns by heart: canaries that are seen 1, 4 and 16 times a pass, and the repository's rarest lines.

    python -m tests.benchmarks.recitation --folder FOLDER [--modes wsla,lora,full] [--steps 220] [--rate 0]

Adapts the built-in model by each mode on the CPU and asks the weights of the result. Nothing is written to the folder.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from unittest import mock

from engine.checkpoints.store.loading import opened_checkpoint
from engine.checkpoints.store.store import CheckpointStore
from engine.devices import Device, open_device
from engine.model.starter import starter_place
from engine.session import Session, SessionPlan, batches
from engine.session.recitation.asking import exposure, recited
from engine.session.recitation.audit import audit
from engine.session.recitation.canaries import canaries, canary_question
from engine.train.events import CheckpointEvent, FinishedEvent
from engine.train.options import preset
from tests.benchmarks.measure import report

COPIES = (1, 4, 16)
EACH = 4  # canaries of each number of copies


def repeated(seed: int, count: int) -> tuple:
    """The canaries, each as often as it is planted."""
    return tuple(one for place, one in enumerate(canaries(seed, count)) for _ in range(COPIES[place // EACH]))


def adapt(folder: Path, data: Path, device: Device, mode: str, steps: int, rate: float) -> tuple[str, FinishedEvent]:
    """The id of the result; "" if it was rolled back."""
    options = preset("quick").changed(mode=mode, steps=steps, learning_rate=rate, canaries=EACH * len(COPIES))
    with mock.patch.object(batches, "canaries", repeated):
        session = Session(SessionPlan(folder, data, options, str(starter_place())), device)
        try:
            events = list(session.run())
        finally:
            session.close()
    results = [event.checkpoint for event in events if isinstance(event, CheckpointEvent) and not event.timeline]
    return results[-1] if results else "", next(e for e in events if isinstance(e, FinishedEvent))


def measure(folder: Path, data: Path, mode: str, steps: int, rate: float) -> None:
    device = open_device("cpu")
    try:
        id, finished = adapt(folder, data, device, mode, steps, rate)
        report(f"{mode}_held_out_before", finished.held_out_before)
        report(f"{mode}_held_out_after", finished.held_out_after)
        if not id:
            return
        store = CheckpointStore(data / "checkpoints")
        figures = audit(store, id, data, lambda which: opened_checkpoint(store, which, device)).figures
        for name in ("asked", "recited", "by_base", "from_training", "low", "high"):
            report(f"{mode}_{name}", getattr(figures, name))
        planted = canaries(0, EACH * len(COPIES))
        with opened_checkpoint(store, id, device) as (model, tokenizer):
            for place, copies in enumerate(COPIES):
                some = planted[place * EACH : (place + 1) * EACH]
                found = recited(model, [canary_question(tokenizer, one) for one in some])
                report(f"{mode}_canaries_{copies}_recited", sum(found))
                bits = [exposure(model, tokenizer, 0, one) for one in some]
                report(f"{mode}_canaries_{copies}_exposure", sum(bits) / EACH)
    finally:
        device.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--modes", default="wsla,lora,full")
    parser.add_argument("--steps", type=int, default=preset("quick").steps)
    parser.add_argument("--rate", type=float, default=0.0)
    arguments = parser.parse_args()
    for mode in arguments.modes.split(","):
        with tempfile.TemporaryDirectory() as data:
            measure(arguments.folder.absolute(), Path(data), mode, arguments.steps, arguments.rate)


if __name__ == "__main__":
    main()
