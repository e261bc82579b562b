"""The fitted numbers for a base model: how memory and model are mixed, when to suggest, what the model sees.

Fitted on the tuning packages by `tests/benchmarks/memory.py` and kept in `resources/memory/`. A memory fitted to
a weak model makes a strong one worse, so a base that is much larger than the one it was fitted to trusts it less.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from engine.generate.chance import Judge
from engine.generate.fitting_in import Surroundings
from engine.generate.precision import weight_count
from engine.generate.ranking import Ranker
from engine.memory.mixing import Mixing
from engine.model.model import Model
from engine.shipped import built_in_content

WITHIN, AT_END = "within", "at_end"
LARGER = 4  # times the weights of the built-in model, from which a base counts as strong
CAUTION = 4.0  # how much more evidence the memory needs against a strong base


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


@cache
def built_in_fit() -> Fit:
    content = built_in_content()
    places = {
        name: Chooser(Ranker.from_json(place["ranker"]), Judge.from_json(place["judge"]))
        for name, place in content["places"].items()
    }
    return Fit(
        Mixing.from_json(content["mixing"]),
        places,
        float(content["least"]),
        bool(content["fill_in"]),
        int(content["weights"]),
    )


def fit_for(model: Model) -> Fit:
    """The fit for a model's size.  A strong base with fill-in-the-middle also sees the text after the cursor."""
    fit = built_in_fit()
    if weight_count(model) < LARGER * fit.weights:
        return fit
    return replace(fit, mixing=fit.mixing.more_cautious(CAUTION), fill_in=True)
