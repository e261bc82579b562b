"""Completion as the editor shows it."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.generate.decode_losses import built_in_key
from engine.generate.options import AUTO, Sampling, Stops
from engine.shipped import starter_place

STARTER = "starter"  # the built-in model
BUILT_IN = "Built-in model"  # the same for people
IN_TRAINING = "in training"  # the model that is being trained now
GHOST, TIMELINE = "ghost", "timeline"
MODEL, MODEL_MEMORY = "left", "left_memory"  # side by side: the model in use, alone and with the memory
SECOND, SECOND_MEMORY = "right", "right_memory"  # the model that it is compared with
CHANNELS = (GHOST, MODEL, MODEL_MEMORY, SECOND, SECOND_MEMORY, TIMELINE)


def in_a_sentence(name: str) -> str:
    """A model's name inside a sentence: "the built-in model"; a checkpoint's name stays as it is."""
    return f"the {BUILT_IN[0].lower()}{BUILT_IN[1:]}" if name == BUILT_IN else name


@dataclass(frozen=True)
class ModelChoice:
    """A model that can be asked: STARTER, IN_TRAINING or a checkpoint's id."""

    id: str
    name: str
    words: str = ""  # mode, step and held-out loss, for the second line of a chooser
    run: str = ""
    base: str = ""  # id of what it was adapted from, for side by side
    folder: str = ""  # that it was adapted to, where that is known; "" for a general model


@dataclass(frozen=True)
class SourceView:
    """A line of the repository that a suggestion was taken from."""

    path: str  # relative to the repository, posix
    line: int  # from 1


@dataclass(frozen=True)
class CompletionView:
    """What a model answered.  `cancelled`: the request was superseded, and `text` is incomplete."""

    ticket: int
    channel: str
    model: str  # id as in ModelChoice
    text: str
    reason: str = ""
    note: str = ""
    tokens: int = 0
    prompt_tokens: int = 0
    reused_tokens: int = 0
    first_token_ms: float = 0.0
    total_ms: float = 0.0
    decode_tokens_per_second: float = 0.0
    fim_used: bool = False
    cancelled: bool = False
    chance: float | None = None  # that the line is accepted unchanged
    sources: tuple[SourceView, ...] = ()  # where the repository says the same, best first
    more_sources: int = 0  # beyond `sources`
    alternatives: tuple[str, ...] = ()  # other texts, best first
    silence: str = ""  # why nothing is shown, in words
    from_memory: bool = False


@dataclass(frozen=True)
class TimelinePoint:
    """One checkpoint of a run, for the timeline under the editor; ordered by step."""

    id: str
    name: str
    step: int
    held_out_loss: float | None
    final: bool  # what the run ended with


@dataclass(frozen=True)
class EditedFile:
    """A recently edited file of the repository; `text` is None if it was deleted or is left out."""

    path: str  # relative to the repository, posix
    text: str | None = field(repr=False)


@dataclass(frozen=True)
class CompletionQuery:
    """A request as the engine's worker gets it."""

    ticket: int
    channel: str
    model: str
    second: str  # blended with `model` where `blend` is above 0
    blend: float
    prefix: str
    suffix: str
    path: str
    sampling: Sampling
    stops: Stops
    context: bool = False  # may look at files that were edited just now
    memory: bool = True  # may use the memory of the repository
    precision: str = AUTO  # that the weights are read in
    least_chance: float = 0.0  # a suggestion that is less likely to be taken stays unshown


@dataclass(frozen=True)
class ModelInUse:
    """The model that the ghost text asks, which also answers editors; see `CompletionQuery`."""

    model: str = STARTER
    second: str = ""
    blend: float = 0.0
    precision: str = AUTO


def losses_key(model: str) -> str:
    """The key under which a model's losses are stored; "" for the built-in model if this build has none."""
    if model != STARTER:
        return model
    return built_in_key(starter_place()) if starter_place().is_dir() else ""
