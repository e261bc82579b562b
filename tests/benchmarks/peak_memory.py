"""A process that only trains at config S on the CPU device and reports its largest resident size."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2]), str(Path(__file__).parent)]

from measure import BATCH, CONFIG_S, LENGTH, peak_bytes, report, token_ids  # noqa: E402

import engine  # noqa: E402
from engine.model.step import AdamW  # noqa: E402

model = engine.create_model(CONFIG_S, device=engine.open_device("cpu"))
step = model.training_step("full", BATCH, LENGTH)
for number in range(1, 6):
    step.run(token_ids(BATCH, LENGTH, CONFIG_S["vocab_size"]), AdamW(), number)()
report("cpu_peak_memory_mb", peak_bytes() / 1e6, "(target <= 450)")
report("cpu_ledger_mb", model.device.ledger.total / 1e6)
