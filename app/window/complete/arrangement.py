"""The order of the two compared models, base left and adapted right, which also orients the blend slider.  No Qt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from app.values.completion import IN_TRAINING, MODEL, SECOND, STARTER, ModelChoice

BEFORE, AFTER, FIRST, OTHER = "Before", "After", "First", "Second"


@dataclass(frozen=True)
class Arrangement:
    """The channels of the left and the right pane; `related`: the right model was adapted from the left one."""

    before: str
    after: str
    related: bool

    @property
    def titles(self) -> tuple[str, str]:
        return (BEFORE, AFTER) if self.related else (FIRST, OTHER)

    def share(self, blend: float) -> float:
        """The share of the right model in a blend; `blend` counts from `model` to `second`."""
        return blend if self.after == SECOND else 1.0 - blend

    blend = share  # its own inverse


UNRELATED = Arrangement(MODEL, SECOND, False)


def arrange(
    choices: Sequence[ModelChoice],
    model: str,
    second: str,
    training_base: str = "",
    earlier: Arrangement = UNRELATED,
) -> Arrangement:
    """Base left and adapted right if one was made from the other; otherwise the order stays as it was."""
    if second and stems_from(choices, model, second, training_base):
        return Arrangement(SECOND, MODEL, True)
    if second and stems_from(choices, second, model, training_base):
        return Arrangement(MODEL, SECOND, True)
    return replace(earlier, related=False)


def stems_from(choices: Sequence[ModelChoice], model: str, base: str, training_base: str = "") -> bool:
    """Whether `model` was adapted from `base`, directly or in several steps."""
    return base in ancestors(_bases(choices), model, training_base)


def ancestors(bases: Mapping[str, str], model: str, training_base: str = "") -> Iterator[str]:
    """The chain of models that a model was adapted from.  `bases`: the base's id for every choice."""
    seen = set()
    while model and model not in seen:
        seen.add(model)
        if model == IN_TRAINING:
            model = training_base or STARTER
        elif model in bases:
            model = bases[model]
            if model and model not in bases:
                model = STARTER  # the store's copy of the built-in model is not listed separately
        else:
            return
        yield model


def counterpart(choices: Sequence[ModelChoice], model: str, training_base: str = "") -> str:
    """The default model to compare with: what this one was adapted from, or the newest made from it."""
    bases = _bases(choices)
    others = [choice.id for choice in choices if choice.id != model]
    above = set(ancestors(bases, model, training_base))
    found = next((other for other in others if other in above), "")
    return found or next((other for other in others if model in ancestors(bases, other, training_base)), "")


def _bases(choices: Sequence[ModelChoice]) -> dict[str, str]:
    return {choice.id: choice.base for choice in choices}
