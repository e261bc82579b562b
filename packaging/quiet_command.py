"""Runs a command without its chatter: what it prints is shown only if it fails.  Standard library only."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def run_quietly(command: list[str | Path], **options) -> int:
    """Run a command and return its exit code; its output goes to standard error if that is not 0."""
    done = subprocess.run(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        check=False,
        **options,
    )
    if done.returncode:
        print(done.stdout.rstrip(), file=sys.stderr, flush=True)
    return done.returncode
