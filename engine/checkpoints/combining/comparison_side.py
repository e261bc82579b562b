"""A checkpoint of the store as one side of a comparison or a merge."""

from __future__ import annotations

from engine.checkpoints.combining.comparable import Side
from engine.checkpoints.store.manifest import TOKENIZER_FILE, Manifest
from engine.checkpoints.store.store import CheckpointStore
from engine.errors import CheckpointError

BEGINNINGS = ("base", "import")  # modes whose weights training begins with
MOST_PARENTS = 64


def side_of(store: CheckpointStore, which: str) -> Side:
    """The checkpoint with what it takes to tell whether another one is like it.  Its parameters are mapped files."""
    manifest = store.get(which)
    parameters = store.load_parameters(manifest.id)
    return Side(
        name=manifest.name,
        config=parameters.config,
        parameters=parameters,
        tokenizer=_tokenizer(store, manifest),
        origin=_origin(store, manifest),
        options=manifest.options,
        metrics=manifest.metrics,
    )


def _tokenizer(store: CheckpointStore, manifest: Manifest) -> str:
    """The hash of its tokenizer, or of that of its base."""
    records = (one.files.get(TOKENIZER_FILE) for one in store.lineage(manifest.id))
    return next((record.sha256 for record in records if record), "")


def _origin(store: CheckpointStore, manifest: Manifest) -> str:
    """The hash of the weights that training began with: of the base, or of the parent of a whole one; "" if unknown."""
    for _ in range(MOST_PARENTS):
        manifest = store.lineage(manifest.id)[-1]
        if manifest.mode in BEGINNINGS:
            return manifest.weights_sha256
        if not manifest.parents:
            return ""
        try:
            manifest = store.get(manifest.parents[0])
        except CheckpointError:
            return ""  # the parent has been deleted
    return ""
