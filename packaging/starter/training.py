"""The long run: hours on two cores; it can be killed at any moment and resumes exactly where it was saved.

Warm-up, stable, decay: after a warm-up the learning rate stays where it is, so no length is fixed in advance.  A decay
branches off from the saved state and takes the rate down; it ends in a model that can be shipped.  The stable run knows
nothing of it and can be resumed from where it was.

work/runs/starter.safetensors   the stable run, saved every five minutes
work/runs/decay.safetensors     a decay that is under way, the same
work/stable/                    the weights of the stable run in float16, with the tokenizer, every twenty minutes
work/snapshot/                  those of the last decay: what is evaluated and exported
work/earlier_curve.json         the curve of the model that the run began with, if it did not begin with random weights
work/history.jsonl              events; a step that occurs twice, after a resume or a decay, counts the second time
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
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from engine.corpus.batches.windows import HeldOutWindows, Windows
from engine.corpus.reading.disk import locked
from engine.corpus.tokens.tokenizer import Tokenizer
from engine.errors import ConfigError
from engine.model.architectures.architecture import Architecture
from engine.model.architectures.reading import config_from
from engine.model.config import preset
from engine.model.model import Model, create_model, load_model
from engine.train.events import EvaluationEvent, Event, FinishedEvent, StepEvent
from engine.train.options import TrainingOptions
from engine.train.saved_run import SavedRun, load_run, run_path, save_run
from engine.train.trainer import Trainer
from starter.prepared_corpus import PreparedCorpus

RUN, DECAY = "starter", "decay"
SIZE = "small"
BATCH, LENGTH = 4, 512
PLANNED_TOKENS = 100_000_000  # a decay may come at any time before
WARM_UP_STEPS = 200
PEAK_RATE = 1.5e-3
DECAY_SHARE = 0.15  # of the run's own tokens so far
EVALUATION_STEPS = 500
DECAY_EVALUATIONS = 10
WATCHED_WINDOWS = 96
BLOCK_TOKENS = 1 << 22  # with blocks of 2^18 the model memorised files for 60 steps, and forgot them
SAVE_SECONDS, SNAPSHOT_SECONDS = 300.0, 1200.0
LOGGED_STEPS = 10  # steps per line of the log
CURVE, EARLIER_CURVE = "training_curve.json", "earlier_curve.json"

Say = Callable[[str], None]


def planned_options(rate: float = PEAK_RATE, tokens: int = PLANNED_TOKENS) -> TrainingOptions:
    """The stable run: a warm-up, then a constant rate; half of the documents with fill-in-the-middle."""
    return TrainingOptions(
        mode="full",
        learning_rate=rate,
        schedule="constant",
        steps=tokens // (BATCH * LENGTH),
        batch_size=BATCH,
        sequence_length=LENGTH,
        weight_decay=0.1,
        beta2=0.99,
        warm_up=WARM_UP_STEPS,
        fim_share=0.5,
        evaluate_every=EVALUATION_STEPS,
        seed=8,
    )


def decay_options(stable: TrainingOptions, step: int, share: float) -> TrainingOptions:
    """From `step` of the stable run on: the rate falls from its peak over `share` as many steps."""
    steps = max(1, round(step * share))
    every = max(1, steps // DECAY_EVALUATIONS)
    return stable.changed(schedule="linear", warm_up=step, steps=step + steps, evaluate_every=every)


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
    model: Path | None = None  # a model folder with the corpus's tokenizer, to begin with its weights

    def config(self, vocabulary: int) -> Architecture:
        return config_from({**self.keys, "vocab_size": vocabulary}) if self.keys else preset(SIZE, vocabulary)


@dataclass
class _Run:
    """A run in this process, and when it was last saved."""

    work: Path
    name: str  # RUN or DECAY
    recipe: Recipe
    corpus: PreparedCorpus
    model: Model
    windows: Windows
    trainer: Trainer
    bytes_per_token: float
    saved_at: float
    snapshot_at: float
    earlier_tokens: int  # of the model that the run began with
    smooth_loss: float = math.nan
    held_out: list[float] = field(default_factory=list)  # loss of every evaluation, including those before a resume

    @property
    def tokens(self) -> int:
        """Tokens seen so far, with those of the model that the run began with."""
        return self.earlier_tokens + self.trainer.step * self.options.batch_size * self.options.sequence_length

    @property
    def options(self) -> TrainingOptions:
        return self.trainer.options

    @property
    def snapshot(self) -> Path:
        return self.work / ("snapshot" if self.name == DECAY else "stable")


def train(work: Path, corpus: PreparedCorpus, say: Say, recipe: Recipe | None = None) -> None:
    """Start or resume the stable run; returns when it is done or, after saving, on SIGTERM and Ctrl-C."""
    with locked(work / "runs"):  # two at once would overwrite each other's progress
        _train(_open(work, RUN, corpus, say, recipe or Recipe()), say)


def decay(
    work: Path, corpus: PreparedCorpus, say: Say, recipe: Recipe | None = None, share: float = DECAY_SHARE
) -> None:
    """Resume the decay that is under way, or begin one at the saved state of the stable run."""
    with locked(work / "runs"):
        if not run_path(work / "runs", DECAY).is_file():
            stable = load_run(work / "runs", RUN)
            options = decay_options(stable.options, stable.state.numbers.step, share)
            save_run(work / "runs", replace(stable, run=DECAY, options=options))
        _train(_open(work, DECAY, corpus, say, recipe or Recipe()), say)


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
                _finish(run)
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


def _finish(run: _Run) -> None:
    """A decay that is done makes room for the next one; a stable run that is done can still be decayed."""
    write_snapshot(run, "finished")
    if run.name == DECAY:
        run_path(run.work / "runs", DECAY).unlink(missing_ok=True)
    else:
        _save(run)


def _stop_if_it_gains_too_little(run: _Run, event: EvaluationEvent, say: Say) -> None:
    run.held_out.append(event.held_out_loss)
    rule = run.recipe.stop_rule
    if rule and run.name == RUN and rule.is_over(run.held_out) and run.trainer.step < run.options.steps:
        say(f"the last {rule.evaluations} evaluations gained less than {rule.nats:g} nats: stopping")
        run.trainer.end("held-out loss no longer pays")


def compare_rates(corpus: PreparedCorpus, rates: list[float], steps: int, say: Say, start: Path | None = None) -> None:
    """A short run with each peak rate on the same batches, a third of it warm-up and the rest decay.

    Compares held-out losses; `start`: a model folder to begin with.
    """
    for rate in rates:
        options = planned_options(rate).changed(
            steps=steps, warm_up=steps // 3, schedule="linear", evaluate_every=0, evaluations=1
        )
        model = _model(Recipe(model=start, options=options), corpus)
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


def _model(recipe: Recipe, corpus: PreparedCorpus) -> Model:
    if recipe.model is None:
        config = recipe.config(corpus.tokenizer.vocab_size)
        return create_model(config, seed=recipe.options.seed, device="cpu")
    if Tokenizer.load(recipe.model / "tokenizer.json").digest != corpus.tokenizer.digest:
        raise ConfigError(
            f"The corpus has another tokenizer than {recipe.model}.", "Prepare the corpus with `--from` that model."
        )
    return load_model(recipe.model, device="cpu")


def _batches(corpus: PreparedCorpus, options: TrainingOptions) -> tuple[Windows, HeldOutWindows]:
    o = options
    windows = Windows(corpus, o.sequence_length, o.batch_size, o.seed, o.fim_share, block_tokens=BLOCK_TOKENS)
    return windows, HeldOutWindows(corpus, o.sequence_length, o.batch_size, limit=WATCHED_WINDOWS)


def _open(work: Path, name: str, corpus: PreparedCorpus, say: Say, recipe: Recipe) -> _Run:
    saved = load_run(work / "runs", name) if run_path(work / "runs", name).is_file() else None
    options = saved.options if saved else recipe.options
    model = _model(recipe, corpus)
    windows, watched = _batches(corpus, options)
    trainer = Trainer(model, windows.take, watched, options)
    work.mkdir(parents=True, exist_ok=True)
    if saved:
        trainer.restore(saved.state)
        note = windows.restore(saved.cursor)
        say(f"resuming {name} at step {trainer.step} of {options.steps}. {note}".strip())
    else:
        if recipe.model:
            shutil.copyfile(recipe.model / CURVE, work / EARLIER_CURVE)
        say(f"new run: {model.config.parameter_count:,} parameters, {options}")
    now = time.monotonic()
    bytes_per_token = _bytes_per_token(corpus, watched)
    run = _Run(work, name, recipe, corpus, model, windows, trainer, bytes_per_token, now, now, earlier_tokens(work))
    if saved:
        run.held_out = held_out_losses(work / "history.jsonl", trainer.step)
    return run


def earlier_tokens(work: Path) -> int:
    """Tokens that the model had seen with which the run began."""
    path = work / EARLIER_CURVE
    return int(json.loads(path.read_text("utf-8"))["tokens_seen"]) if path.is_file() else 0


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
    saved = SavedRun(run.name, "packages", "", run.trainer.options, run.windows.state(), run.trainer.state())
    save_run(run.work / "runs", saved)
    run.saved_at = time.monotonic()


def write_snapshot(run: _Run, state: str) -> None:
    """Replace the run's model folder by one with its current weights."""
    target = run.snapshot
    partial = target.with_name(target.name + ".part")
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
        "steps": run.options.steps,
        "decay_steps": max(0, run.trainer.step - run.options.warm_up) if run.name == DECAY else 0,
        "peak_rate": run.options.peak_rate,
        "tokens": run.tokens,
        "own_tokens": run.tokens - run.earlier_tokens,
        "passes": round(run.windows.progress, 3),
    }
    (partial / "about.json").write_text(json.dumps(about, indent=1) + "\n", "utf-8")
    old = target.with_name(target.name + ".old")
    shutil.rmtree(old, ignore_errors=True)
    if target.is_dir():
        os.replace(target, old)
    os.replace(partial, target)
    shutil.rmtree(old, ignore_errors=True)
    run.snapshot_at = time.monotonic()
