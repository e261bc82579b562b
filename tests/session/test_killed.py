"""Kill -9 at random moments, fifty times: the store stays intact, and the resumed run gives the same numbers."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
KILLS = 50


def test_a_run_that_is_killed_fifty_times_loses_nothing(tmp_path):
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")
    program = [sys.executable, str(Path(__file__).with_name("killed_runs.py")), str(tmp_path), str(seed), str(KILLS)]
    environment = {**os.environ, "NUMBA_THREADING_LAYER": "workqueue", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(program, capture_output=True, text=True, env=environment, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-2000:]
    result = json.loads(done.stdout.splitlines()[-1])
    print(result)
    assert result["wrong"] == [], result
    assert result["kills"] >= KILLS and result["resumed"] >= 10
    assert result["finished"] >= 1 and result["steps"] == 30
