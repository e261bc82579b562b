"""The plan of a run before it starts: steps, memory by kind and minutes, in the chosen mode and the others."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from app.values.training import PlanView, RunRequest, SpeedBasis
from app.workers.open_device import OpenDevice
from app.workers.speeds import FORWARD, RELATIVE, Speeds

if TYPE_CHECKING:
    import numpy as np

NEW_VOCABULARY = 8192  # of a model that does not exist yet


def plan_run(open_device: OpenDevice, speeds: Speeds, request: RunRequest) -> tuple[PlanView, dict[str, PlanView]]:
    """The plan of the chosen mode, and those of all modes by name."""
    from engine.errors import CodecoilError
    from engine.model.modes import MODES
    from engine.model.selection import suits
    from engine.train.options import TrainingOptions

    options = TrainingOptions(**request.options)
    config = base_config(open_device, request.base)
    plans, speed = {}, _full_speed(open_device, speeds, config, options)
    for mode in MODES:
        try:
            plans[mode] = _plan(open_device, speed, config, options.changed(mode=mode))
        except CodecoilError as error:
            plans[mode] = PlanView(mode, problem=error.message, suits=suits(config, mode))
    return plans[options.mode], plans


def base_config(open_device: OpenDevice, base: str):
    """The configuration of the base."""
    from engine.model import files
    from engine.model.config import preset
    from engine.model.starter import starter_folder
    from engine.session.bases import NEW_MODEL_SIZE

    if base:
        return open_device.store.config(base)
    folder = starter_folder()
    return files.read_config(folder) if folder is not None else preset(NEW_MODEL_SIZE, NEW_VOCABULARY)


def plan_view(event) -> PlanView:
    """The plan of a run that has started."""
    batch = max(event.micro_batches, 1)
    return PlanView(
        event.mode,
        event.steps,
        event.minutes,
        event.tokens_per_step,
        event.micro_batch,
        batch,
        event.trained_parameters,
        dict(event.memory),
        event.ceiling,
        event.device,
        base_precision=event.base_precision,
    )


def _full_speed(open_device: OpenDevice, speeds: Speeds, config, options) -> tuple[float, SpeedBasis]:
    """Tokens per second in mode `full`, measured in the chosen mode and converted: one trial serves all modes."""
    from engine.errors import CodecoilError

    try:
        fit, *_ = _fit(open_device, config, options)
    except CodecoilError:  # this mode's plan says why
        return 0.0, SpeedBasis.UNKNOWN
    speed, basis = speeds.now(config, open_device.device, options.mode, fit.micro_batch, options.sequence_length)
    return speed / RELATIVE[options.mode], basis


def _fit(open_device: OpenDevice, config, options) -> tuple[Any, str, dict[str, int]]:
    """How the batch would be split, the precision of the base, and the bytes by kind that the run would hold."""
    from engine.session.batches import HELD_OUT_BATCH
    from engine.train.memory_fitting import base_precision, fitting, run_estimate

    device, layers = open_device.device, config.num_hidden_layers
    ceiling = device.ledger.ceiling
    token_ids = _token_ids(open_device.corpus, config.vocab_size) if options.mode == "vocabulary" else None

    @cache
    def estimates(precision: str):
        return run_estimate(config, device, options, precision, token_ids, HELD_OUT_BATCH)

    precision = base_precision(options, layers, estimates, ceiling)
    fit = fitting(options, layers, estimates(precision), ceiling)
    return fit, precision, {str(kind): count for kind, count in estimates(precision)(fit).items()}


def _plan(open_device: OpenDevice, full_speed: tuple[float, SpeedBasis], config, options) -> PlanView:
    from engine.session.batches import HELD_OUT_WINDOWS

    fit, precision, memory = _fit(open_device, config, options)
    ceiling = open_device.device.ledger.ceiling
    steps = _steps(open_device.corpus, options)
    tokens = options.batch_size * options.sequence_length
    speed = full_speed[0] * RELATIVE[options.mode]
    evaluations = 1 + (options.changed(steps=steps).evaluations_from(1) if steps else 0)
    worked = steps * tokens + evaluations * HELD_OUT_WINDOWS * options.sequence_length / FORWARD
    minutes = worked / speed / options.duty_cycle / 60 if speed and steps else 0.0
    if options.minutes:
        minutes = min(minutes or options.minutes, options.minutes)
    total = sum(memory.values())
    return PlanView(
        options.mode,
        steps,
        minutes,
        tokens,
        fit.micro_batch,
        fit.micro_batches,
        memory.get("gradients", 0) // 4,
        memory,
        ceiling,
        open_device.device.description,
        "" if total <= ceiling else f"It needs {total / 2**20:,.0f} MiB; the limit is {ceiling / 2**20:,.0f} MiB.",
        speed,
        full_speed[1],
        base_precision=precision,
    )


def _steps(corpus, options) -> int:
    """Steps of a run; those of its epochs, if fewer.  0: only the time limits it."""
    if not options.epochs or corpus is None or not corpus.learned_documents:
        return options.steps
    from engine.session.batches import steps_for_epochs

    steps = steps_for_epochs(options, corpus.learned_documents, False)
    return min(steps, options.steps) if options.steps else steps


def _token_ids(corpus, vocab_size: int) -> np.ndarray:
    """The tokens whose rows mode "vocabulary" would train; all of them until the repository has been read."""
    if corpus is None or not corpus.has_tokens or corpus.tokenizer.vocab_size > vocab_size:
        import numpy

        return numpy.arange(vocab_size)
    from engine.session.batches import occurring_tokens

    return occurring_tokens(corpus, vocab_size)
