"""A program that changes a store as fast as it can, for the test of two programs on one store."""

from __future__ import annotations

import random
import time
from pathlib import Path

from engine.checkpoints.store.manifest import Facts
from engine.checkpoints.store.store import CheckpointStore, Retention
from engine.errors import CheckpointError

EXPECTED = (
    "There is no checkpoint",
    "matches",
    "is needed by",
    "has been deleted",
    "is in the trash",
    "is not in the store",
    "cannot be read",
    "already in the store",
)


def be_busy(folder: Path, number: int, seconds: float, answer) -> None:
    """Random changes; answers with what was refused for no good reason, and what was last written to "shared"."""
    from tests.checkpoints.store.samples import TINY, parameters, wsla_delta

    chance, store = random.Random(number), CheckpointStore(folder)
    values, delta = parameters(number), wsla_delta(number)
    wrong: list[str] = []
    last, done, end = "", 0, time.monotonic() + seconds

    def any_name() -> str:
        manifests = store.list()
        return chance.choice([m.id for m in manifests if m.name != "shared"] or ["nobody"])

    changes = [
        lambda: store.save(Facts(f"whole {number} {done}", "full"), config=TINY, parameters=values),
        lambda: store.save_delta(Facts(f"delta {number} {done}", "wsla", run="r"), base=any_name(), delta=delta),
        lambda: store.rename(any_name(), f"renamed {number} {done}"),
        lambda: store.delete(any_name(), force=chance.random() < 0.2),
        lambda: store.delete(any_name()),
        lambda: store.restore(chance.choice([item.key for item in store.trash()] or ["nobody"])),
        lambda: store.empty_trash(),
        lambda: store.gc(),
        lambda: store.duplicate(any_name(), f"copy {number} {done}"),
        lambda: store.apply_retention(Retention(5, 1)),
        lambda: dict(store.load_parameters(any_name())),
    ]
    while time.monotonic() < end:
        done += 1
        try:
            chance.choice(changes)()
        except CheckpointError as error:
            if not any(words in str(error) for words in EXPECTED):
                wrong.append(str(error))
        last = str(done)
        changed = {"note": last} if number else {"tags": [last]}
        store.annotate("shared", **changed)
    answer.put((wrong, last, done))
