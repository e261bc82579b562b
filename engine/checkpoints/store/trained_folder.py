"""The folder that a checkpoint was trained on: its path on this machine, and only its name in what leaves it.

A checkpoint that came from elsewhere keeps that name. It is no path, so nothing is ever looked for there.
"""

from __future__ import annotations

import dataclasses
import os

from engine.checkpoints.store import ROOT
from engine.checkpoints.store.manifest import Manifest


def trained_on(manifest: Manifest) -> str:
    """The path of the folder; only its name if that was another machine; "" if there is none."""
    root = manifest.data.get(ROOT, "")
    return root if isinstance(root, str) else ""


def is_here(root: str) -> bool:
    """Whether what `trained_on` gave is a path of this machine, which need not exist any more."""
    return os.path.isabs(root)


def folder_name(root: str) -> str:
    """The last part of a path of any system."""
    return root.replace("\\", "/").rstrip("/").rpartition("/")[2]


def without_path(manifest: Manifest) -> Manifest:
    """A manifest as it may leave the machine."""
    if not trained_on(manifest):
        return manifest
    return dataclasses.replace(manifest, data={**manifest.data, ROOT: folder_name(trained_on(manifest))})
