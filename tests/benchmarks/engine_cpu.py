"""The CPU device at config S: a step against its products, modes against each other, length, memory, kernels."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
from measure import (
    BATCH,
    CONFIG_S,
    LENGTH,
    in_turns,
    report,
    seconds,
    step_flops,
    token_ids,
)

import engine
from engine.graph.cost import moved_bytes, product_operations
from engine.model.step import AdamW, TrainingStep

ROUNDS = 9
SGEMM_REPEATS = 3
LENGTHS = (256, 1024, 8192)
TOKENS = 8192


def main() -> None:
    modes()
    lengths()
    kernels()
    report_peak_memory()


def opened_step(mode: str, batch: int = BATCH, length: int = LENGTH) -> tuple[engine.Model, TrainingStep, np.ndarray]:
    model = engine.create_model(CONFIG_S, device=engine.open_device("cpu"))
    return model, model.training_step(mode, batch, length), token_ids(batch, length, CONFIG_S["vocab_size"])


def program_of(step: TrainingStep):
    return step.executables[0].plan.program


def modes() -> None:
    """Full, WSLA and LoRA steps, and sgemm at its best, in turns."""
    opened = {mode: opened_step(mode) for mode in ("full", "wsla", "lora")}
    size = 2048
    a, b, c = (np.ones((size, size), np.float32) for _ in range(3))
    nothing = np.empty((0, 0), np.float32)
    device = opened["full"][0].device
    product = device.kernel("matmul_nn")
    runs = {mode: lambda step=step, ids=ids: step.run(ids, AdamW(), 1)() for mode, (_, step, ids) in opened.items()}

    def sgemm() -> None:  # as long as a step, so that both have the same chance of a quiet moment
        for _ in range(SGEMM_REPEATS):
            product(a, b, c, nothing, nothing[0:0].reshape(-1), 1.0, 0)

    runs["sgemm"] = sgemm
    best = in_turns(runs, ROUNDS)
    rate = SGEMM_REPEATS * 2 * size**3 / best["sgemm"]
    report("cpu_sgemm_gflops", rate / 1e9)
    products = step_flops(program_of(opened["full"][1])) / rate
    report("cpu_full_step_ms", best["full"] * 1e3)
    report("cpu_full_tokens_per_second", BATCH * LENGTH / best["full"])
    report("cpu_full_step_over_products", best["full"] / products, "(target <= 2.5)")
    report("cpu_wsla_step_over_full", best["wsla"] / best["full"], "(target <= 0.75)")
    report("cpu_lora_step_over_full", best["lora"] / best["full"], "(target <= 0.85)")
    for model, step, _ in opened.values():
        step.close()
        model.device.close()


def lengths() -> None:
    """Time and memory per token as sequences grow, at an equal number of tokens a step."""
    opened = {length: opened_step("full", TOKENS // length, length) for length in LENGTHS}
    best = in_turns({str(n): lambda s=s, i=i: s.run(i, AdamW(), 1)() for n, (_, s, i) in opened.items()}, 5)
    shortest = best[str(LENGTHS[0])]
    for length, (model, step, _) in opened.items():
        report(
            f"cpu_time_per_token_at_{length}_over_{LENGTHS[0]}",
            best[str(length)] / shortest,
            "(target within 0.9 to 1.1)",
        )
        report(f"cpu_arena_bytes_per_token_at_{length}", step.executables[0].plan.arena_bytes / TOKENS)
        step.close()
        model.device.close()


def kernels() -> None:
    """Each kernel's share of a full step."""
    model, step, ids = opened_step("full")
    step.run(ids, AdamW(), 1)()
    executable = step.executables[0]
    calls = executable.plan.program.calls
    times = np.min([[seconds(lambda f=f, a=a: f(*a)) for f, a in executable.bound] for _ in range(5)], axis=0)
    spent, flops, moved = Counter(), Counter(), Counter()
    for call, time in zip(calls, times, strict=True):
        spent[call.kernel] += float(time)
        flops[call.kernel] += product_operations(call)
        moved[call.kernel] += moved_bytes(call)
    for kernel, time in spent.most_common():
        speed = (
            f"{flops[kernel] / time / 1e9:.1f} GFLOP/s" if flops[kernel] else f"{moved[kernel] / time / 1e9:.2f} GB/s"
        )
        report(f"cpu_kernel_{kernel}_ms", time * 1e3, speed)
    step.close()
    model.device.close()


def report_peak_memory() -> None:
    """The largest resident size of a process that only trains at S."""
    script = Path(__file__).with_name("peak_memory.py")
    result = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    print(result.stdout.strip())
