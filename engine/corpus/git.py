"""Asking git about a repository, without running anything that the repository's own configuration names."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

PATIENCE = 20.0  # seconds


def ask_git(root: Path, arguments: Sequence[str]) -> bytes | None:
    """What git prints; None where there is no git, no history, or no answer in time."""
    command = ["git", "-C", os.fspath(root), "--no-pager", "--no-optional-locks"]
    command += ["-c", "core.fsmonitor=false", "-c", "log.showSignature=false", *arguments]
    environment = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    try:
        done = subprocess.run(
            command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
