"""The long run: hours on two cores, in which it may be killed at any moment and goes on exactly where it was saved.

work/runs/starter.safetensors   where the run is, replaced every five minutes
work/snapshot/                  the present weights in float16, with the tokenizer, replaced every twenty minutes
work/history.jsonl              what happened; after a resume steps may come twice, and the later one counts
work/train.log                  the same for a person
"""

from __future__ import annotations

import json
import math
import os
import resource
import shutil
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from engine.corpus.batches.windows import HeldOutWindows, Windows
from engine.corpus.reading.disk import locked
from engine.model.config import ModelConfig, preset
from engine.model.model import Model, create_model
from engine.train.events import EvaluationEvent, Event, FinishedEvent, StepEvent
from engine.train.options import TrainingOptions
from engine.train.saved_run import SavedRun, load_run, run_path, save_run
from engine.train.trainer import Trainer
from starter.prepared_corpus import PreparedCorpus

RUN = "starter"
SIZE = "small"
BATCH, LENGTH = 4, 512
PLANNED_TOKENS = 20_500_000
PEAK_RATE = 1.5e-3
EVALUATION_STEPS = 500
WATCHED_WINDOWS = 96
BLOCK_TOKENS = 1 << 22  # with blocks of 2^18 the model learned files by heart for 60 steps, and forgot them
SAVE_SECONDS, SNAPSHOT_SECONDS = 300.0, 1200.0
LOGGED_STEPS = 10  # one line for so many steps

Say = Callable[[str], None]


def planned_options(rate: float = PEAK_RATE, tokens: int = PLANNED_TOKENS) -> TrainingOptions:
    """The run as it is planned: warm-up over 2 %, cosine, half of the documents with the middle at their end."""
    steps = tokens // (BATCH * LENGTH)
    return TrainingOptions(
        mode="full",
        learning_rate=rate,
        steps=steps,
        batch_size=BATCH,
        sequence_length=LENGTH,
        weight_decay=0.1,
        beta2=0.99,
        warm_up=steps // 50,
        fim_share=0.5,
        evaluations=math.ceil(steps / EVALUATION_STEPS),
        seed=8,
    )


@dataclass(frozen=True)
class Worthwhile:
    """When going on no longer pays: the last `evaluations` together gained less than `nats` of held-out loss."""

    evaluations: int
    nats: float

    def is_over(self, losses: list[float]) -> bool:
        """`losses`: held-out losses from the beginning.  The best of the last ones against the best before them."""
        before, last = losses[: -self.evaluations], losses[-self.evaluations :]
        return bool(before) and min(before) - min(last) < self.nats


@dataclass(frozen=True)
class Recipe:
    """What is trained and how often it is saved; a run that goes on keeps the options that it began with.

    Without `worthwhile` all planned steps are done.
    """

    size: dict[str, int] | None = None  # of the model; the starter's own unless told
    options: TrainingOptions = field(default_factory=planned_options)
    save_seconds: float = SAVE_SECONDS
    snapshot_seconds: float = SNAPSHOT_SECONDS
    worthwhile: Worthwhile | None = None

    def config(self, vocabulary: int) -> ModelConfig:
        return ModelConfig(vocab_size=vocabulary, **self.size) if self.size else preset(SIZE, vocabulary)


@dataclass
class _Course:
    """A run in this process: what it needs at hand, and when it was last saved."""

    work: Path
    recipe: Recipe
    corpus: PreparedCorpus
    model: Model
    windows: Windows
    trainer: Trainer
    bytes_a_token: float
    saved_at: float
    snapshot_at: float
    lost: float = math.nan
    held_out: list[float] = field(default_factory=list)  # losses by evaluation, those before a resume included

    @property
    def tokens(self) -> int:
        """Seen so far."""
        return self.trainer.step * self.trainer.options.batch_size * self.trainer.options.sequence_length


def train(work: Path, corpus: PreparedCorpus, say: Say, recipe: Recipe | None = None) -> None:
    """Begin the planned run, or go on with it; ends when it is done, or, saved, at SIGTERM and Ctrl-C."""
    with locked(work / "runs"):  # two at once would overwrite each other's progress
        _train(_open(work, corpus, say, recipe or Recipe()), say)


def _train(course: _Course, say: Say) -> None:
    asked: list[int] = []
    before = {
        number: signal.signal(number, lambda got, _: asked.append(got)) for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        for event in course.trainer.run():
            _note(course, event, say)
            if isinstance(event, EvaluationEvent):
                _end_when_it_no_longer_pays(course, event, say)
            if isinstance(event, FinishedEvent):
                write_snapshot(course, "finished")
            elif asked:
                _save(course)
                write_snapshot(course, "stopped")
                say(f"stopped and saved at step {course.trainer.step}")
                return
            else:
                _save_when_due(course, say)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        course.trainer.close()
        course.model.close()


def _end_when_it_no_longer_pays(course: _Course, event: EvaluationEvent, say: Say) -> None:
    course.held_out.append(event.held_out_loss)
    rule = course.recipe.worthwhile
    if rule and rule.is_over(course.held_out) and course.trainer.step < course.trainer.options.steps:
        say(f"the last {rule.evaluations} evaluations gained less than {rule.nats:g} nats: the run ends here")
        course.trainer.end("held-out loss no longer pays")


def compare_rates(corpus: PreparedCorpus, rates: list[float], steps: int, say: Say) -> None:
    """A short beginning with each peak rate, on the same batches: which one has the lowest held-out loss."""
    for rate in rates:
        options = planned_options(rate).changed(steps=steps, warm_up=steps // 3, schedule="constant", evaluations=1)
        model = create_model(preset(SIZE, corpus.tokenizer.vocab_size), seed=options.seed, device="cpu")
        windows, watched = _batches(corpus, options)
        trainer = Trainer(model, windows.take, watched, options)
        losses = []
        began = time.monotonic()
        for event in trainer.run():
            if isinstance(event, StepEvent):
                losses.append(event.loss)
            if isinstance(event, EvaluationEvent):
                say(f"rate {rate:g}: step {event.step}, held out {event.held_out_loss:.4f}")
        say(f"rate {rate:g}: last ten steps {np.mean(losses[-10:]):.4f}, {time.monotonic() - began:.0f} s")
        trainer.close()
        model.close()


def _batches(corpus: PreparedCorpus, options: TrainingOptions) -> tuple[Windows, HeldOutWindows]:
    o = options
    windows = Windows(corpus, o.sequence_length, o.batch_size, o.seed, o.fim_share, block_tokens=BLOCK_TOKENS)
    return windows, HeldOutWindows(corpus, o.sequence_length, o.batch_size, limit=WATCHED_WINDOWS)


def _open(work: Path, corpus: PreparedCorpus, say: Say, recipe: Recipe) -> _Course:
    saved = load_run(work / "runs", RUN) if run_path(work / "runs", RUN).is_file() else None
    options = saved.options if saved else recipe.options
    model = create_model(recipe.config(corpus.tokenizer.vocab_size), seed=options.seed, device="cpu")
    windows, watched = _batches(corpus, options)
    trainer = Trainer(model, windows.take, watched, options)
    work.mkdir(parents=True, exist_ok=True)
    if saved:
        trainer.restore(saved.state)
        note = windows.restore(saved.cursor)
        say(f"going on at step {trainer.step} of {options.steps}. {note}".strip())
    else:
        say(f"new run: {model.config.parameter_count:,} parameters, {options}")
    now = time.monotonic()
    course = _Course(work, recipe, corpus, model, windows, trainer, _bytes_a_token(corpus, watched), now, now)
    if saved:
        course.held_out = held_out_losses(work / "history.jsonl", trainer.step)
    return course


def held_out_losses(history: Path, last_step: int) -> list[float]:
    """The held-out losses up to a step, in order.  One that was measured twice, after a kill, counts once."""
    events = [json.loads(line) for line in history.read_text("utf-8").splitlines()]
    losses = {event["step"]: event["held_out_loss"] for event in events if event["event"] == "evaluation"}
    return [loss for step, loss in sorted(losses.items()) if step <= last_step]


def _bytes_a_token(corpus: PreparedCorpus, watched: HeldOutWindows) -> float:
    """How many bytes of code a counted target of the watched windows stands for, on average."""
    lengths = corpus.tokenizer.byte_lengths
    targets = [batch.targets[batch.targets >= 0] for batch in watched]
    return float(sum(lengths[each].sum() for each in targets) / sum(len(each) for each in targets))


def _note(course: _Course, event: Event, say: Say) -> None:
    """Into the history, and in words into the log."""
    keys = event.to_json()
    keys.pop("memory", None)
    keys["tokens"] = course.tokens
    if isinstance(event, StepEvent):
        course.lost = event.loss if math.isnan(course.lost) else 0.98 * course.lost + 0.02 * event.loss
        if event.step % LOGGED_STEPS:
            return
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        say(
            f"step {event.step:5d}  loss {course.lost:.4f}  rate {event.learning_rate:.2e}"
            f"  norm {event.gradient_norm:.2f}"
            f"  {event.tokens_per_second:.0f} tokens/s  {event.seconds_left / 3600:.1f} h left  peak {peak} MB"
        )
        keys["smooth_loss"] = round(course.lost, 4)
    elif isinstance(event, EvaluationEvent):
        keys["bits_per_byte"] = event.held_out_loss / math.log(2) / course.bytes_a_token
        say(
            f"step {event.step:5d}  held out {event.held_out_loss:.4f}, {keys['bits_per_byte']:.4f} bits per byte"
            f"{', the best' if event.best else ''}"
        )
    else:
        say(json.dumps(keys))
    with (course.work / "history.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(keys) + "\n")


def _save_when_due(course: _Course, say: Say) -> None:
    now = time.monotonic()
    if now - course.saved_at >= course.recipe.save_seconds:
        _save(course)
        say(f"saved at step {course.trainer.step}")
    if now - course.snapshot_at >= course.recipe.snapshot_seconds:
        write_snapshot(course, "running")


def _save(course: _Course) -> None:
    saved = SavedRun(RUN, "packages", "", course.trainer.options, course.windows.state(), course.trainer.state())
    save_run(course.work / "runs", saved)
    course.saved_at = time.monotonic()


def write_snapshot(course: _Course, state: str) -> None:
    """Replace `work/snapshot` by the present weights: a model folder that can be exported at any time."""
    target = course.work / "snapshot"
    partial = course.work / "snapshot.part"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    arrays = {name: np.ascontiguousarray(array).astype(np.float16) for name, array in course.model.parameters.items()}
    save_file(arrays, partial / "model.safetensors", {"format": "pt"})
    config = {**course.model.config.to_hugging_face(), "dtype": "float16"}
    (partial / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", "utf-8")
    course.corpus.tokenizer.save(partial)
    about: dict[str, Any] = {
        "state": state,
        "step": course.trainer.step,
        "steps": course.trainer.options.steps,
        "tokens": course.tokens,
        "passes": round(course.windows.progress, 3),
    }
    (partial / "about.json").write_text(json.dumps(about, indent=1) + "\n", "utf-8")
    old = course.work / "snapshot.old"
    shutil.rmtree(old, ignore_errors=True)
    if target.is_dir():
        os.replace(target, old)
    os.replace(partial, target)
    shutil.rmtree(old, ignore_errors=True)
    course.snapshot_at = time.monotonic()
