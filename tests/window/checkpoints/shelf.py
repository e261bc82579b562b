"""A real store of tiny checkpoints with a story: a base, what was adapted from it, snapshots, a merge."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from engine.session.changes import SEEN

STEPS = 40
HASHES = "QUJDREVG"  # of the files that were learned, as a run keeps them


class Story:
    """Ids by name, in the order in which they were made."""

    def __init__(self, data_folder: Path, base: str, root: str) -> None:
        from engine.checkpoints.store.store import CheckpointStore

        self.store = CheckpointStore(data_folder / "checkpoints")
        self.base, self.root = base, root
        self.ids = {"tiny": base}
        self._config = self.store.config(base)
        with self.store.load_parameters(base) as loaded:
            self._weights = {name: np.array(array) for name, array in loaded.items()}

    def whole(self, name: str, seed: int, loss: float | None = 2.0, **more) -> str:
        """Every weight moved a little, as a full run would."""
        from engine.checkpoints.store.store import Facts

        noise = np.random.default_rng(seed)
        moved = {
            key: array + 0.02 * seed * noise.standard_normal(array.shape, np.float32) * (1 + 3 * ("in_proj" in key))
            for key, array in self._weights.items()
        }
        facts = Facts(**({"name": name, "mode": "full", "parents": (self.base,)} | self._facts(loss) | more))
        path = self.store.tokenizer_path(self.base)
        history = self._history(loss) if facts.run else ()
        saved = self.store.save(facts, config=self._config, parameters=moved, tokenizer=path, history=history)
        self.ids[name] = saved.id
        return saved.id

    def delta(self, name: str, seed: int, loss: float | None = 2.0, **more) -> str:
        """The rows of B and C, as WSLA trains them."""
        from engine.checkpoints.store.delta import make_delta
        from engine.checkpoints.store.store import Facts

        noise = np.random.default_rng(seed)
        moved = {
            key: array + 0.02 * seed * noise.standard_normal(array.shape, np.float32)
            for key, array in self._weights.items()
        }
        facts = Facts(**({"name": name, "mode": "wsla", "parents": (self.base,)} | self._facts(loss) | more))
        delta = make_delta("wsla", self._config, moved)
        history = self._history(loss) if facts.run else ()
        self.ids[name] = self.store.save_delta(facts, base=self.base, delta=delta, history=history).id
        return self.ids[name]

    def _facts(self, loss: float | None) -> dict:
        metrics = {} if loss is None else {"held_out_loss": loss, "held_out_before": 4.31}
        options = {"learning_rate": 3e-3, "steps": STEPS, "schedule": {"name": "cosine", "warm_up": 4}}
        data = {"root": self.root, SEEN: HASHES}
        return {"run": "r1", "step": STEPS, "metrics": metrics, "options": options, "data": data}

    @staticmethod
    def _history(loss: float | None) -> list[dict]:
        last = 2.5 if loss is None else loss
        found = []
        for step in range(STEPS + 1):
            value = last + (4.31 - last) * math.exp(-step / 9)
            if step % 8 == 0:
                found.append({"event": "evaluation", "step": step, "held_out_loss": value})
            if step:
                found.append({"event": "step", "step": step, "loss": value + 0.15 * math.sin(step * 5)})
        return found


def tell(data_folder: Path, base: str, root: str) -> Story:
    """The shelf that most tests look at: six results and a snapshot."""
    story = Story(data_folder, base, root)
    story.delta("shelves #1", 1, 3.905, tags=("light",))
    story.whole("shelves #2", 2, 3.412, note="The first that knew our names.")
    story.delta("shelves at step 8", 3, 3.8, tags=("timeline",), step=8)
    story.whole("shelves #3", 3, 3.384, pinned=True, tags=("best", "keep"))
    story.whole("from elsewhere", 4, None, mode="import", run="", step=0, parents=(), options={}, data={})
    return story


def names(page) -> list[str]:
    return [row.name for row in page.table.table.shown]


def choose(one, page, story, *which: str) -> None:
    """Select, and wait until all that belongs to it was read."""
    page.choose([story.ids[name] for name in which])
    one.until(lambda: not page._resting.isActive() and not one.state.checkpoints.busy)


def cards(page) -> set[str]:
    """The cards on the right that can be seen."""
    detail = page.detail
    known = ("merge", "export", "overview", "facts", "drift", "curves", "lineage", "precision", "model_card")
    return {name for name in known if getattr(detail, name) is not None and getattr(detail, name).isVisible()}
