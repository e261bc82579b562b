"""What the weights of a checkpoint recite of the code that they were trained on: figures and words, never the text.

`engine/session/recitation` measures it; the manifest keeps it in `data`, and every card says it.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields
from typing import Any

from engine.checkpoints.store.manifest import Manifest
from engine.checkpoints.store.trained_folder import trained_on

RECITATION = "recitation"  # the key in a checkpoint's data
MOST = 1 << 30
EXACT = "float32"  # holds what every other precision stores
SAME_PRECISION = {"f32": "float32", "f16": "float16"}  # GGUF's names
NOT_MEASURED = "Not measured: how much of the code that it was trained on the weights recite."


@dataclass(frozen=True)
class Recitation:
    """Counts of lines; `low` and `high`: the 95 % interval of the share that is recited because of the training.

    `by_base` is None where there was no base to ask. `exposure`: mean over the planted lines, in bits, of how far up
    each ranks among `alternatives` random ones of its shape.
    """

    measured: str  # when
    asked: int
    recited: int
    by_base: int | None
    from_training: int  # recited, and not by the base
    low: float
    high: float
    planted: int = 0
    planted_recited: int = 0
    exposure: float = 0.0
    alternatives: int = 0
    folders_missing: int = 0  # that it was trained on, too, and that could not be read

    @property
    def most_exposure(self) -> float:
        """Bits, for a line that ranks first."""
        return math.log2(self.alternatives + 1)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def words(self) -> tuple[str, ...]:
        """What was found, in whole sentences."""
        found = []
        if self.asked:
            base = "the base could not be asked" if self.by_base is None else f"the base recites {_count(self.by_base)}"
            cause = "" if self.by_base is None else " because of the training"
            share = f"{100 * self.from_training / self.asked:.1f} %; " if self.from_training else ""
            found.append(
                f"Given the first half of {_lines(self.asked, 'rare')} of the code that they were trained on, and the "
                f"text before it, the weights alone recite {_count(self.recited)}; {base}."
            )
            found.append(
                f"Recited{cause}: {_count(self.from_training)} of {self.asked:,} "
                f"({share}95 % interval {100 * self.low:.1f} to {100 * self.high:.1f} %)."
            )
        else:
            found.append("No line of the code that the weights were trained on is rare enough to be asked for.")
        if self.planted:
            found.append(
                f"Of {_lines(self.planted, 'random')} planted in the training to measure this, the weights recite "
                f"{_count(self.planted_recited)}; exposure {self.exposure:.1f} of at most {self.most_exposure:.1f} "
                "bits (1.4 is chance)."
            )
        if self.folders_missing:
            folders = "A folder" if self.folders_missing == 1 else f"{self.folders_missing} folders"
            found.append(f"{folders} that they were trained on before could not be read and was not asked for.")
        return tuple(found)


def recitation_of(manifest: Manifest) -> Recitation | None:
    """What was measured before; None if nothing was, or if what is there was not written by us."""
    stored = manifest.data.get(RECITATION)
    names = {field.name for field in fields(Recitation)}
    if not isinstance(stored, dict) or stored.keys() != names:
        return None
    counts = names - {"measured", "low", "high", "exposure", "by_base"}
    by_base = stored["by_base"]
    if not all(_is_count(stored[name]) for name in counts) or not (by_base is None or _is_count(by_base)):
        return None
    shares = [stored[name] for name in ("low", "high", "exposure")]
    if not all(type(share) in (int, float) and math.isfinite(share) for share in shares):
        return None
    measured = stored["measured"]
    return Recitation(**stored) if isinstance(measured, str) and len(measured) <= 32 else None


def recitation_words(manifest: Manifest, exported: str = "") -> tuple[str, ...]:
    """For the card: what was measured, that nothing was, or nothing for what was not trained on a folder.

    `exported`: the precision of the export that they are for, if that has one of its own.
    """
    found = recitation_of(manifest)
    if found is not None:
        return (*found.words(), *rounding_words(manifest.precision, exported))
    return (NOT_MEASURED,) if trained_on(manifest) else ()


def rounding_words(stored: str, exported: str) -> tuple[str, ...]:
    """A sentence where an export rounds the stored weights, which are those that were asked."""
    if not exported or SAME_PRECISION.get(exported, exported) in (EXACT, stored):
        return ()
    return (
        f"This was asked of the weights as they are stored; the export rounds them to {exported}, which can change "
        "what single lines give.",
    )


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < MOST


def _lines(number: int, kind: str) -> str:
    return f"{number:,} {kind} line{'s' * (number != 1)}"


def _count(number: int) -> str:
    return f"{number:,}" if number else "none"
