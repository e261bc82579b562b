"""Speed and memory of the engine: `python tests/benchmarks/engine.py [cpu] [webgpu]`.  Prints name=value lines.

Ratios compare within this run.  The targets are in RESULTS.md, "Speed and memory".
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parent)]

import engine_cpu  # noqa: E402
import engine_webgpu  # noqa: E402

if __name__ == "__main__":
    parts = {"cpu": engine_cpu.main, "webgpu": engine_webgpu.main}
    for name in sys.argv[1:] or parts:
        parts[name]()
