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
from engine.train.options import TrainingOptions, preset
from tests.benchmarks.measure import report

COPIES = (1, 4, 16)
EACH = 4  # canaries of each number of copies


def repeated(seed: int, count: int) -> tuple:
    """The canaries, each as often as it is planted."""
    return tuple(one for place, one in enumerate(canaries(seed, count)) for _ in range(COPIES[place // EACH]))


def adapt(folder: Path, data: Path, device: Device, options: TrainingOptions) -> tuple[str, FinishedEvent]:
    """The id of the result; "" if it was rolled back."""
    with mock.patch.object(batches, "canaries", repeated):
        session = Session(SessionPlan(folder, data, options, str(starter_place())), device)
        try:
            events = list(session.run())
        finally:
            session.close()
    results = [event.checkpoint for event in events if isinstance(event, CheckpointEvent) and not event.timeline]
    return results[-1] if results else "", next(e for e in events if isinstance(e, FinishedEvent))


def measure(folder: Path, data: Path, options: TrainingOptions, with_base: bool) -> None:
    """One mode; `with_base`: also how the canaries rank before any training, which is what chance looks like."""
    mode = options.mode
    device = open_device("cpu")
    try:
        id, finished = adapt(folder, data, device, options)
        report(f"{mode}_seconds", finished.seconds)
        report(f"{mode}_held_out_before", finished.held_out_before)
        report(f"{mode}_held_out_after", finished.held_out_after)
        report(f"{mode}_rolled_back", int(not id))
        if not id:
            return
        store = CheckpointStore(data / "checkpoints")
        manifest = store.get(id)
        report(f"{mode}_best_step", manifest.step)
        report(f"{mode}_passes", manifest.step * options.batch_size * options.sequence_length / manifest.data["tokens"])
        found = audit(store, id, data, lambda which: opened_checkpoint(store, which, device))
        for name in ("asked", "recited", "by_base", "from_training", "low", "high"):
            report(f"{mode}_{name}", getattr(found.figures, name))
        ask(store, id, device, options.seed, mode)
        if with_base:
            ask(store, manifest.parents[0], device, options.seed, "base")
    finally:
        device.close()


def ask(store: CheckpointStore, id: str, device: Device, seed: int, label: str) -> None:
    """Recited word for word, and the mean exposure, of the canaries of each number of copies."""
    planted = canaries(seed, EACH * len(COPIES))
    with opened_checkpoint(store, id, device) as (model, tokenizer):
        questions = [canary_question(tokenizer, one) for one in planted]
        for place, copies in enumerate(COPIES):
            here = slice(place * EACH, (place + 1) * EACH)
            askable = [question for question in questions[here] if question is not None]
            report(f"{label}_canaries_{copies}_recited", f"{sum(recited(model, askable))} of {len(askable)}")
            bits = [exposure(model, tokenizer, seed, one) for one in planted[here]]
            report(f"{label}_canaries_{copies}_exposure", " ".join(f"{each:.2f}" for each in bits))
            report(f"{label}_canaries_{copies}_mean_exposure", sum(bits) / len(bits))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--modes", default="wsla,lora,full")
    parser.add_argument("--steps", type=int, default=preset("quick").steps)
    parser.add_argument("--rate", type=float, default=0.0)
    arguments = parser.parse_args()
    for number, mode in enumerate(arguments.modes.split(",")):
        options = preset("quick").changed(
            mode=mode, steps=arguments.steps, learning_rate=arguments.rate, canaries=EACH * len(COPIES)
        )
        with tempfile.TemporaryDirectory() as data:
            measure(arguments.folder.absolute(), Path(data), options, with_base=number == 0)


if __name__ == "__main__":
    main()
