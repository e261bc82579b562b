"""The fitted numbers for a base model: how memory and model are mixed, when to suggest, what the model sees.

Fitted on the tuning packages by `tests/benchmarks/memory.py` and kept in `resources/memory/`, a file for each base
model that was fitted to. Any other base uses the fit of the one nearest in size. A memory fitted to a weak model makes
a strong one worse, so a base that is much larger than the one it was fitted to trusts it less.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from engine.generate.chance import Judge
from engine.generate.fitting_in import Surroundings
from engine.generate.precision import weight_count
from engine.generate.ranking import Ranker
from engine.memory.mixing import Mixing
from engine.model.model import Model
from engine.shipped import built_in_content, fit_contents

WITHIN, AT_END = "within", "at_end"
LARGER = 4  # times the weights of the base a fit was made for, from which another one counts as stronger
CAUTION = 4.0  # how much more evidence the memory needs against a stronger base


@dataclass(frozen=True, eq=False)
class Chooser:
    """How a line is chosen in one kind of position."""

    ranker: Ranker
    judge: Judge


@dataclass(frozen=True, eq=False)
class Fit:
    """`places`: for WITHIN a block and AT_END of one, where the line below says little; `least`: the probability from
    which a line is shown; `fill_in`: whether the model also sees the text after the cursor; `weights`: how many the
    base has that this was fitted to.
    """

    mixing: Mixing
    places: dict[str, Chooser]
    least: float
    fill_in: bool
    weights: int

    def place_of(self, around: Surroundings) -> Chooser:
        return self.places[AT_END if around.ends_block else WITHIN]

    def to_json(self) -> dict[str, Any]:
        return {
            "weights": self.weights,
            "fill_in": self.fill_in,
            "least": self.least,
            "places": {
                name: {"ranker": place.ranker.to_json(), "judge": place.judge.to_json()}
                for name, place in self.places.items()
            },
            "mixing": self.mixing.to_json(),
        }

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Fit:
        places = {
            name: Chooser(Ranker.from_json(place["ranker"]), Judge.from_json(place["judge"]))
            for name, place in content["places"].items()
        }
        mixing, least = Mixing.from_json(content["mixing"]), float(content["least"])
        return cls(mixing, places, least, bool(content["fill_in"]), int(content["weights"]))


@cache
def built_in_fit() -> Fit:
    """The fit to the built-in model."""
    return Fit.from_json(built_in_content())


@cache
def all_fits() -> tuple[Fit, ...]:
    return tuple(map(Fit.from_json, fit_contents()))


def fit_for(model: Model) -> Fit:
    """The fit to the base nearest in size."""
    return fit_for_size(weight_count(model))


def fit_for_size(weights: int) -> Fit:
    """The same for a model of so many weights.

    A strong base with fill-in-the-middle also sees the text after the cursor.
    """
    weights = max(1, weights)
    fit = min(all_fits(), key=lambda one: abs(math.log(weights / one.weights)))
    if weights >= LARGER * fit.weights:
        fit = replace(fit, mixing=fit.mixing.more_cautious(CAUTION))
    return replace(fit, fill_in=True) if weights >= LARGER * built_in_fit().weights else fit
