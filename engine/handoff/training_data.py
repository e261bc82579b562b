"""The windows of a run as safetensors files: every row of every step in its order, and what is measured.

train-00001-of-00003      tokens (rows, l + 1): batch 1, batch 2, …; targets are the inputs moved by one
held-out-00001-of-00001   the same, and counted (rows,): how many targets of a row count, from the left
schedule                  learning_rate (steps,), evaluated (steps + 1,): whether held-out code is measured there
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from engine.checkpoints.store.writing import FolderWriter
from engine.corpus.batches.windows import HeldOutWindows, Windows
from engine.train.options import TrainingOptions

FOLDER = "data/"
SHARD_BYTES = 64 << 20

Report = Callable[[int, int], None]


def rows_of_a_shard(length: int) -> int:
    return max(1, SHARD_BYTES // (4 * (length + 1)))


def train_bytes(options: TrainingOptions) -> int:
    """Of all training windows."""
    return 4 * options.steps * options.batch_size * (options.sequence_length + 1)


def write_train(
    writer: FolderWriter, windows: Windows, options: TrainingOptions, report: Report | None
) -> list[dict[str, Any]]:
    """Write the rows of every step; the files with how many rows each has."""
    rows, length = options.steps * options.batch_size, options.sequence_length
    size = min(rows, rows_of_a_shard(length))
    count, files, done = -(-rows // size), [], 0
    for number in range(1, count + 1):
        own = min(size, rows - done)
        tokens = np.empty((own, length + 1), np.int32)
        for first in range(0, own, options.batch_size):
            last = min(own, first + options.batch_size)
            tokens[first:last] = windows.take(last - first).tokens
            if report is not None:
                report(done + last, rows)
        files.append({"file": _write(writer, "train", number, count, {"tokens": tokens}), "rows": own})
        done += own
    return files


def write_held_out(
    writer: FolderWriter, windows: HeldOutWindows, memory: tuple[np.ndarray, np.ndarray] | None
) -> list[dict[str, Any]]:
    """Write the held-out windows (few: one file), with what the memory knows about them."""
    batches = list(windows)
    used = np.concatenate([batch.counted for batch in batches]) > 0
    tensors = {
        "tokens": np.concatenate([batch.tokens for batch in batches])[used],
        "counted": np.concatenate([batch.counted for batch in batches])[used],
    }
    if memory is not None:
        tensors |= {"memory_factor": memory[0], "memory_share": memory[1]}
    return [{"file": _write(writer, "held-out", 1, 1, tensors), "rows": int(used.sum())}]


def write_schedule(writer: FolderWriter, options: TrainingOptions) -> str:
    """Write the learning rate of each step, and after which of them held-out code is measured; the file's name."""
    steps = options.steps
    rates = np.array([options.rate_at(step) for step in range(1, steps + 1)], np.float64)
    evaluated = np.array([True, *(options.evaluates_at(step) for step in range(1, steps + 1))])
    name = f"{FOLDER}schedule.safetensors"
    writer.write_tensors(name, {"learning_rate": rates, "evaluated": evaluated.astype(np.uint8)})
    return name


def _write(writer: FolderWriter, what: str, number: int, count: int, tensors: dict[str, np.ndarray]) -> str:
    name = f"{FOLDER}{what}-{number:05}-of-{count:05}.safetensors"
    writer.write_tensors(name, tensors)
    return name
