"""Queries git about a repository, without running anything that the repository's own configuration names.

Git is the only program that Codecoil starts.  It reads this disk and nothing else: every protocol is disabled, and
objects missing from a partial clone are not fetched, so it neither connects nor starts anything that would.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

PATIENCE = 20.0  # seconds

SETTINGS = {  # these win over the repository's own
    "core.fsmonitor": "false",
    "core.hooksPath": os.devnull,
    "core.quotePath": "false",
    "diff.submodule": "short",  # anything else starts git in the submodule, with the programs that its settings name
    "log.showSignature": "false",
    "protocol.allow": "never",
}
OPTIONS = ("--no-ext-diff", "--no-textconv", "--submodule=short")
ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "none",  # unlike protocol.allow it also wins over the repository's protocol.NAME.allow
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}


def ask_git(root: Path, arguments: Sequence[str]) -> bytes | None:
    """What `git log` or `git show` prints; None where there is no git, no history, or no answer in time."""
    program = _program()
    if program is None:
        return None
    command = [program, "-C", os.fspath(root), "--no-pager", "--no-optional-locks"]
    for name, value in SETTINGS.items():
        command += ["-c", f"{name}={value}"]
    command += [arguments[0], *OPTIONS, *arguments[1:]]
    try:
        done = subprocess.run(
            command,
            env=os.environ | ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def _program() -> str | None:
    """Git by its full path: Windows searches the current folder first, which may be the repository."""
    for folder in os.get_exec_path():
        if os.path.isabs(folder) and (found := shutil.which(os.path.join(folder, "git"))):
            return found
    return None
