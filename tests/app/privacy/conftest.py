"""A small repository and a tiny base, and Codecoil in a process that is cut off from the network."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.session.small_repository import *  # noqa: F403  (fixtures)

ROOT = Path(__file__).parents[3]
PATIENCE = 1800  # seconds; a machine may be busy, and a tour is long


@pytest.fixture
def cut_off(tmp_path, data_folder):
    """Runs commands in such a process; returns its report."""

    def run(mode: str, *commands: list[str], planted: str = "", guard_only: bool = False) -> dict:
        report = tmp_path / "report.json"
        program = [sys.executable, str(Path(__file__).with_name("cut_off.py")), str(report), mode, json.dumps(commands)]
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "packaging"))),
            "CODECOIL_DATA": str(data_folder),
            "QT_QPA_PLATFORM": "offscreen",
            "PLANTED": planted,
            "GUARD_ONLY": "1" if guard_only else "",
        }
        done = subprocess.run(program, env=environment, capture_output=True, text=True, timeout=PATIENCE)
        assert report.exists(), done.stderr
        return json.loads(report.read_text()) | {"out": done.stdout, "err": done.stderr}

    return run
