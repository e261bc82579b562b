"""The long run: hours on two cores; it can be killed at any moment and resumes exactly where it was saved.

work/runs/starter.safetensors   the saved run, replaced every five minutes
work/snapshot/                  the current weights in float16, with the tokenizer, replaced every twenty minutes
work/history.jsonl              events; after a resume a step may occur twice, and the later one counts
work/train.log                  the same in words
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
from engine.model.architectures.architecture import Architecture
from engine.model.architectures.reading import config_from
from engine.model.config import preset
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
BLOCK_TOKENS = 1 << 22  # with blocks of 2^18 the model memorised files for 60 steps, and forgot them
SAVE_SECONDS, SNAPSHOT_SECONDS = 300.0, 1200.0
LOGGED_STEPS = 10  # steps per line of the log

Say = Callable[[str], None]


def planned_options(rate: float = PEAK_RATE, tokens: int = PLANNED_TOKENS) -> TrainingOptions:
    """The planned run: warm-up over 2 %, cosine, half of the documents with fill-in-the-middle."""
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
class StopRule:
    """Stop once the last `evaluations` together gained less than `nats` of held-out loss."""

    evaluations: int
    nats: float

    def is_over(self, losses: list[float]) -> bool:
        """`losses`: all held-out losses so far.  Compares the best of the last ones with the best before them."""
        before, last = losses[: -self.evaluations], losses[-self.evaluations :]
        return bool(before) and min(before) - min(last) < self.nats


@dataclass(frozen=True)
class Recipe:
    """What is trained and how often it is saved; a resumed run keeps the options it was started with.

    Without `stop_rule` all planned steps are done.
    """

    keys: dict[str, Any] | None = None  # of the model's `config.json`, without vocab_size; default: the starter's
    options: TrainingOptions = field(default_factory=planned_options)
    save_seconds: float = SAVE_SECONDS
    snapshot_seconds: float = SNAPSHOT_SECONDS
    stop_rule: StopRule | None = None

    def config(self, vocabulary: int) -> Architecture:
        return config_from({**self.keys, "vocab_size": vocabulary}) if self.keys else preset(SIZE, vocabulary)


@dataclass
class _Run:
    """A run in this process, and when it was last saved."""

    work: Path
    recipe: Recipe
    corpus: PreparedCorpus
    model: Model
    windows: Windows
    trainer: Trainer
    bytes_per_token: float
    saved_at: float
    snapshot_at: float
    smooth_loss: float = math.nan
    held_out: list[float] = field(default_factory=list)  # loss of every evaluation, including those before a resume

    @property
    def tokens(self) -> int:
        """Tokens seen so far."""
        return self.trainer.step * self.trainer.options.batch_size * self.trainer.options.sequence_length


def train(work: Path, corpus: PreparedCorpus, say: Say, recipe: Recipe | None = None) -> None:
    """Start or resume the planned run; returns when it is done or, after saving, on SIGTERM and Ctrl-C."""
    with locked(work / "runs"):  # two at once would overwrite each other's progress
        _train(_open(work, corpus, say, recipe or Recipe()), say)


def _train(run: _Run, say: Say) -> None:
    asked: list[int] = []
    before = {
        number: signal.signal(number, lambda got, _: asked.append(got)) for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        for event in run.trainer.run():
            _note(run, event, say)
            if isinstance(event, EvaluationEvent):
                _stop_if_it_gains_too_little(run, event, say)
            if isinstance(event, FinishedEvent):
                write_snapshot(run, "finished")
            elif asked:
                _save(run)
                write_snapshot(run, "stopped")
                say(f"stopped and saved at step {run.trainer.step}")
                return
            else:
                _save_when_due(run, say)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        run.trainer.close()
        run.model.close()


def _stop_if_it_gains_too_little(run: _Run, event: EvaluationEvent, say: Say) -> None:
    run.held_out.append(event.held_out_loss)
    rule = run.recipe.stop_rule
    if rule and rule.is_over(run.held_out) and run.trainer.step < run.trainer.options.steps:
        say(f"the last {rule.evaluations} evaluations gained less than {rule.nats:g} nats: stopping")
        run.trainer.end("held-out loss no longer pays")


def compare_rates(corpus: PreparedCorpus, rates: list[float], steps: int, say: Say) -> None:
    """A short run with each peak rate on the same batches, to compare held-out losses."""
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


def _open(work: Path, corpus: PreparedCorpus, say: Say, recipe: Recipe) -> _Run:
    saved = load_run(work / "runs", RUN) if run_path(work / "runs", RUN).is_file() else None
    options = saved.options if saved else recipe.options
    model = create_model(recipe.config(corpus.tokenizer.vocab_size), seed=options.seed, device="cpu")
    windows, watched = _batches(corpus, options)
    trainer = Trainer(model, windows.take, watched, options)
    work.mkdir(parents=True, exist_ok=True)
    if saved:
        trainer.restore(saved.state)
        note = windows.restore(saved.cursor)
        say(f"resuming at step {trainer.step} of {options.steps}. {note}".strip())
    else:
        say(f"new run: {model.config.parameter_count:,} parameters, {options}")
    now = time.monotonic()
    run = _Run(work, recipe, corpus, model, windows, trainer, _bytes_per_token(corpus, watched), now, now)
    if saved:
        run.held_out = held_out_losses(work / "history.jsonl", trainer.step)
    return run


def held_out_losses(history: Path, last_step: int) -> list[float]:
    """The held-out losses up to a step, in order.  One measured twice, after a kill, counts once."""
    events = [json.loads(line) for line in history.read_text("utf-8").splitlines()]
    losses = {event["step"]: event["held_out_loss"] for event in events if event["event"] == "evaluation"}
    return [loss for step, loss in sorted(losses.items()) if step <= last_step]


def _bytes_per_token(corpus: PreparedCorpus, watched: HeldOutWindows) -> float:
    """Mean bytes of code per target token of the watched windows."""
    lengths = corpus.tokenizer.byte_lengths
    targets = [batch.targets[batch.targets >= 0] for batch in watched]
    return float(sum(lengths[each].sum() for each in targets) / sum(len(each) for each in targets))


def _note(run: _Run, event: Event, say: Say) -> None:
    """Append an event to the history, and in words to the log."""
    keys = event.to_json()
    keys.pop("memory", None)
    keys["tokens"] = run.tokens
    if isinstance(event, StepEvent):
        run.smooth_loss = event.loss if math.isnan(run.smooth_loss) else 0.98 * run.smooth_loss + 0.02 * event.loss
        if event.step % LOGGED_STEPS:
            return
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
        say(
            f"step {event.step:5d}  loss {run.smooth_loss:.4f}  rate {event.learning_rate:.2e}"
            f"  norm {event.gradient_norm:.2f}"
            f"  {event.tokens_per_second:.0f} tokens/s  {event.seconds_left / 3600:.1f} h left  peak {peak} MB"
        )
        keys["smooth_loss"] = round(run.smooth_loss, 4)
    elif isinstance(event, EvaluationEvent):
        keys["bits_per_byte"] = event.held_out_loss / math.log(2) / run.bytes_per_token
        say(
            f"step {event.step:5d}  held out {event.held_out_loss:.4f}, {keys['bits_per_byte']:.4f} bits per byte"
            f"{', the best' if event.best else ''}"
        )
    else:
        say(json.dumps(keys))
    with (run.work / "history.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(keys) + "\n")


def _save_when_due(run: _Run, say: Say) -> None:
    now = time.monotonic()
    if now - run.saved_at >= run.recipe.save_seconds:
        _save(run)
        say(f"saved at step {run.trainer.step}")
    if now - run.snapshot_at >= run.recipe.snapshot_seconds:
        write_snapshot(run, "running")


def _save(run: _Run) -> None:
    saved = SavedRun(RUN, "packages", "", run.trainer.options, run.windows.state(), run.trainer.state())
    save_run(run.work / "runs", saved)
    run.saved_at = time.monotonic()


def write_snapshot(run: _Run, state: str) -> None:
    """Replace `work/snapshot` by the current weights: a model folder that can be exported at any time."""
    target = run.work / "snapshot"
    partial = run.work / "snapshot.part"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    arrays = {name: np.ascontiguousarray(array).astype(np.float16) for name, array in run.model.parameters.items()}
    save_file(arrays, partial / "model.safetensors", {"format": "pt"})
    config = {**run.model.config.to_hugging_face(), "dtype": "float16"}
    (partial / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n", "utf-8")
    run.corpus.tokenizer.save(partial)
    about: dict[str, Any] = {
        "state": state,
        "step": run.trainer.step,
        "steps": run.trainer.options.steps,
        "tokens": run.tokens,
        "passes": round(run.windows.progress, 3),
    }
    (partial / "about.json").write_text(json.dumps(about, indent=1) + "\n", "utf-8")
    old = run.work / "snapshot.old"
    shutil.rmtree(old, ignore_errors=True)
    if target.is_dir():
        os.replace(target, old)
    os.replace(partial, target)
    shutil.rmtree(old, ignore_errors=True)
    run.snapshot_at = time.monotonic()
