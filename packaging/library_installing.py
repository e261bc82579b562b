"""Installs missing system libraries, where this user may.  Standard library only."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from quiet_command import run_quietly

sys.path.append(str(Path(__file__).resolve().parent.parent))  # last: `packaging` must stay PyPI's
from app import system_libraries as system


def install(missing: list[system.Library]) -> bool:
    """Install as root by apt-get; False where that is not possible or fails."""
    if system.package_manager() != "apt" or os.geteuid() != 0:
        return False
    print(f"Setting up: installing {len(missing)} system libraries…", flush=True)
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    # If updating the lists fails, the old ones may still do: the install decides.
    subprocess.run(["apt-get", "update"], env=environment, capture_output=True, check=False)
    return run_quietly(system.install_command(missing, "apt").split(), env=environment) == 0
