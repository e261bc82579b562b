"""What changed in a repository since a checkpoint: files and lines, each by their hashes."""

from __future__ import annotations

from pathlib import Path

from app.values.repository import ChangesSince
from app.workers.speeds import Speeds


class ChangeCounter:
    """Counts for one repository."""

    def __init__(self, data_folder: Path, root: Path, folder: Path) -> None:
        """`folder`: the data about the repository."""
        from app.workers.line_hashes import LineHashes
        from engine.checkpoints.store.store import CheckpointStore

        self._root = root
        self._hashes = LineHashes(folder)
        self._speeds = Speeds(data_folder)
        self._store = CheckpointStore(data_folder / "checkpoints")

    def keep(self, checkpoint: str, corpus) -> None:
        """Count from this checkpoint on."""
        self._hashes.keep(checkpoint, self._root, [verdict.path for verdict in corpus.files if verdict.learn])

    def count(self, corpus, in_use: str) -> ChangesSince:
        """Since the model `in_use` or one made from it, otherwise since the newest checkpoint of this repository."""
        from engine.session import changed_since

        manifest = since_checkpoint(self._store.list(), self._root, in_use)
        if manifest is None:
            return ChangesSince()
        paths = tuple(changed_since(manifest, corpus))
        lines = self._hashes.count(manifest.id, self._root, paths)
        tokens = sum(corpus.by_path[path].tokens or 0 for path in paths if path in corpus.by_path)
        held_out = sum(document.tokens for document in corpus.held_out_documents)
        seconds = self._speeds.seconds_for_changes(tokens, manifest.mode, held_out) if paths else 0.0
        return ChangesSince(manifest.id, manifest.name, len(paths), lines, paths, seconds)


def since_checkpoint(manifests, root: Path, in_use: str):
    """The checkpoint that changes of the repository at `root` are counted from; None if there is none.

    The newest that descends from the one in use, so that what an adaptation to changes has learned is not offered
    again; if none of this repository is in use, the newest.  Only checkpoints that were trained there and recorded the
    files they have seen (a merge has not); no snapshots along a run.
    """
    from engine.checkpoints.store.trained_folder import trained_on
    from engine.session.changes import SEEN

    own = [
        manifest
        for manifest in manifests  # newest first
        if not manifest.is_snapshot and trained_on(manifest) == str(root) and SEEN in manifest.data
    ]
    line = {in_use}
    for manifest in reversed(own):  # oldest first: parents come before their children
        if line.intersection(manifest.parents):
            line.add(manifest.id)
    return next((manifest for manifest in own if manifest.id in line), own[0] if own else None)
