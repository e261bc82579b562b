"""Which numbers go with which base: how memory and model are mixed, when a suggestion is shown, what the model reads.

Fitted on the tuning packages by `tests/benchmarks/memory.py` and kept in `resources/memory/`. A memory fitted to
a weak model makes a strong one worse, so a base that is much larger than the one a fit was made for trusts it less.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from engine.generate.chance import Judge
from engine.generate.fitting_in import Surroundings
from engine.generate.ranking import Ranker
from engine.memory.mixing import Mixing
from engine.model.model import Model
from engine.shipped_fits import built_in_content

WITHIN, AT_END = "within", "at_end"
LARGER = 4  # times the weights of the built-in model: from there on a base counts as strong
CAUTION = 4.0  # what a strong base's evidence has to be multiplied by to be believed


@dataclass(frozen=True, eq=False)
class Fit:
    """`weights`: how many the base has that it was fitted to; `fill_in`: the model is shown what is after the cursor,
    too.
    """

    mixing: Mixing
    rankers: dict[str, Ranker]  # by WITHIN and AT_END of a block, where the line below says little
    judge: Judge
    fill_in: bool
    weights: int

    def ranker_for(self, around: Surroundings) -> Ranker:
        return self.rankers[AT_END if around.ends_block else WITHIN]

    def to_json(self) -> dict[str, Any]:
        return {
            "weights": self.weights,
            "fill_in": self.fill_in,
            "rankers": {place: ranker.to_json() for place, ranker in self.rankers.items()},
            "judge": self.judge.to_json(),
            "mixing": self.mixing.to_json(),
        }


@cache
def built_in_fit() -> Fit:
    content = built_in_content()
    return Fit(
        Mixing.from_json(content["mixing"]),
        {place: Ranker.from_json(content["rankers"][place]) for place in (WITHIN, AT_END)},
        Judge.from_json(content["judge"]),
        bool(content["fill_in"]),
        int(content["weights"]),
    )


def fit_for(model: Model) -> Fit:
    """The fit that suits a model's size.  A strong base that can fill in is shown what is after the cursor."""
    fit = built_in_fit()
    weights = sum(math.prod(parameter.shape) for parameter in model.network.parameters.values())
    if weights < LARGER * fit.weights:
        return fit
    return replace(fit, mixing=fit.mixing.more_cautious(CAUTION), fill_in=True)
