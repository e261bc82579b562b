"""Two devices in two threads: their kernels take turns, whichever thread pool Numba found on this machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TWO_THREADS = """
import threading
from engine.devices import open_device
from engine.devices.samples import make_sample
from engine.devices.single_kernel import run_sample

sample, started = make_sample("rmsnorm"), threading.Barrier(2)

def work():
    device = open_device("cpu")
    run_sample(device, sample)
    started.wait()
    for _ in range(300):
        run_sample(device, sample)
    device.close()

threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("both are done")
"""


@pytest.mark.parametrize("pool", ["workqueue", "default"])
def test_two_threads_with_a_device_each(pool, tmp_path):
    environment = {**os.environ, "NUMBA_THREADING_LAYER": pool, "NUMBA_NUM_THREADS": "2", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", TWO_THREADS], env=environment, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0 and done.stdout == "both are done\n", done.stderr
