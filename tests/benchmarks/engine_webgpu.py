"""The WebGPU device: variants against the plain ones they replace, and what a step costs besides its kernels.

On the software adapter the numbers say little about GPUs; the lines per kernel are for whoever has one.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from pathlib import Path

import numpy as np
from measure import BATCH, CONFIG_S, LENGTH, report, token_ids

import engine
from engine.devices.webgpu.device import WebGpuDevice
from engine.devices.webgpu.executable import race, time_launches
from engine.devices.webgpu.launch import Launch, ceil_div, pack
from engine.devices.webgpu.launches import LAUNCHES, launches_of, scan, scratch_elements
from engine.devices.webgpu.launches.matmul import Product, choose_variant, sample_product
from engine.graph.cost import moved_bytes, product_operations
from engine.graph.kernels import STATE_INTERVAL
from engine.graph.ssd import SsdShape
from engine.graph.tensor import KernelCall, Tensor
from engine.model.step import AdamW, TrainingStep

BASELINE = Path(__file__).with_name("shaders") / "plain_tile_matmul.wgsl"
T = BATCH * LENGTH
# (layout, m, n, k) of the products of a training step at S
SHAPES = (
    ("nt", T, 1024, 256), ("nt", T, 48, 512), ("nt", T, 512, 16), ("nt", T, 256, 512), ("nt", 256, 8192, 256),
    ("nn", T, 256, 1024), ("nn", T, 512, 48), ("nn", 256, 256, 8192), ("nn", T, 512, 256),
    ("tn", 1024, 256, T), ("tn", 48, 512, T), ("tn", 8192, 256, 256), ("tn", 256, 512, T), ("tn", 512, 16, T),
)  # fmt: skip


def main() -> None:
    device = engine.open_device("webgpu")
    report("webgpu_adapter", device.adapter.description)
    products(device)
    scans(device)
    dual_scans(device)
    step(device)
    device.close()


def shortest(device: WebGpuDevice, launches: dict[str, list[Launch]], rounds: int = 3) -> dict[str, float]:
    """The shortest time of each list of launches, in turns; the first round compiles and does not count."""
    times = [{name: race(device, items) for name, items in launches.items()} for _ in range(rounds + 1)]
    return {name: min(turn[name] for turn in times[1:]) for name in launches}


def products(device: WebGpuDevice) -> None:
    """The product that the engine chooses for each shape of a step against a plain 16 x 16 tile."""
    device.pipelines.add_shader("plain_tile_matmul", BASELINE.read_text(encoding="utf-8"))
    ratios = []
    for layout, m, n, k in SHAPES:
        product = Product.of(layout, *sample_product(layout, m, n, k, "tiled_32").bindings[:3])
        variant = choose_variant(product, device.traits)
        chosen = sample_product(layout, m, n, k, variant, software=device.traits.software)
        a, b, c = chosen.bindings[:3]
        steps = (product.a_row, product.a_step, product.b_row, product.b_step, c.stride)
        grid = (ceil_div(n, 16), ceil_div(m, 16), 1)
        plain = Launch("plain_tile_matmul", (a, b, c), pack(m, n, k, *steps), grid)
        best = shortest(device, {"chosen": [chosen], "plain": [plain]})
        ratios.append(best["plain"] / best["chosen"])
        speed = 2 * m * n * k / best["chosen"] / 1e9
        report(f"webgpu_matmul_{layout}_{m}x{n}x{k}_over_plain", ratios[-1], f"{variant} {speed:.2f} GFLOP/s")
    report("webgpu_linear_speed_over_plain_tile", math.exp(np.mean(np.log(ratios))), "(target >= 8)")


def scans(device: WebGpuDevice) -> None:
    """The scan that the engine chooses, and its variants, against Kogge-Stone."""
    d, n, r = 512, CONFIG_S["state_size"], 16
    chunks = LENGTH // STATE_INTERVAL
    shapes = [(T, d), (T, d), (T, r + 2 * n), (n + 2, d), (BATCH, chunks + 1, n, d), (T, d), (BATCH * chunks * d,)]
    names = ("u", "delta", "x_dbl", "coefficients", "states", "y", "workspace")
    views = tuple(Tensor(name, shape).view() for name, shape in zip(names, shapes, strict=True))
    numbers = {"length": LENGTH, "rank": r, "carry": 0}
    launches = {v: scan.selective_scan(views, numbers, device.traits, variant=v) for v in scan.VARIANTS}
    best = shortest(device, launches)
    for variant, time_taken in best.items():
        report(f"webgpu_scan_{variant}_ms", time_taken * 1e3)
    chosen = scan.scan_variant((*views[:6], None), numbers, device.traits)
    report("webgpu_scan_speed_over_kogge_stone", best["kogge_stone"] / best[chosen], f"{chosen} (target >= 10)")


def dual_scans(device: WebGpuDevice) -> None:
    """Mamba-2's scan and its backward against Mamba-1's, at equal width and state."""
    d, n, heads = 512, 64, 16
    chunks, dual = LENGTH // STATE_INTERVAL, SsdShape(BATCH, LENGTH, heads, d // heads, 1, n)
    blocks = ceil_div(d, device.scan_channel_block)
    inner = (T, d)
    of_heads = [(T, dual.width), (T, 2 * heads), (3, heads), (BATCH, chunks + 1, heads * n, d // heads), inner]
    of_channels = [inner, inner, (T, 2 * n), (n + 2, d), (BATCH, chunks + 1, n, d), inner]
    shapes = {
        "ssd": of_heads,
        "ssd_backward": [*of_heads, (T, dual.width), (T, 3 * heads)],
        "selective_scan": of_channels,
        "selective_scan_backward": [*of_channels, (blocks * T * 2 * n + BATCH * (n + 2) * d,)],
    }
    numbers = {"length": LENGTH, "rank": 0, "carry": 0, "want_inputs": 1, "want_coefficients": 1}
    launches = {}
    for kernel, own in shapes.items():
        views = tuple(Tensor(str(i), shape).view() for i, shape in enumerate(own))
        if not kernel.startswith("ssd"):
            workspace = device.workspace_elements(kernel, BATCH, LENGTH, d, n)
            views = (*views, Tensor("workspace", (workspace,)).view() if workspace else None)
        scratch = scratch_elements(KernelCall(kernel, views, numbers), device.traits)
        extra = (Tensor("scratch", (scratch,)).view(),) if scratch else ()
        launches[kernel] = LAUNCHES[kernel]((*views, *extra), numbers, device.traits)
    best = shortest(device, launches)
    for kernel, time_taken in best.items():
        report(f"webgpu_{kernel}_ms", time_taken * 1e3)
    both = best["selective_scan"] + best["selective_scan_backward"]
    report("webgpu_ssd_speed_over_selective_scan", both / (best["ssd"] + best["ssd_backward"]), f"{d} wide, {n} states")


def step(device: WebGpuDevice) -> None:
    """What a full step at S costs besides its kernels, and its kernels one by one."""
    model = engine.create_model(CONFIG_S, device=device)
    training = model.training_step("full", BATCH, LENGTH)
    ids = token_ids(BATCH, LENGTH, CONFIG_S["vocab_size"])
    waiting = training.run(ids, AdamW(), 1)
    submits, encoding, began = device.submits, [], time.perf_counter()
    for number in range(2, 5):
        waiting()
        at = time.perf_counter()
        waiting = training.run(ids, AdamW(), number)
        encoding.append(time.perf_counter() - at)
    waiting()
    report("webgpu_step_seconds", (time.perf_counter() - began) / len(encoding))
    report("webgpu_submits_per_step", (device.submits - submits) / len(encoding), "(target 1 on the software adapter)")
    report("webgpu_python_ms_between_submits", min(encoding) * 1e3, "(target <= 5)")
    executable = training.executables[0]
    layer, rest = dispatches_per_layer(training)
    report("webgpu_dispatches_per_layer_and_step", layer, "(target <= 30)")
    report("webgpu_dispatches_besides_layers", rest)
    report("webgpu_bytes_read_back_per_step", executable.plan.program.outputs["statistics"].nbytes, "(target <= 64)")
    spent, flops, moved = Counter(), Counter(), Counter()
    plan = executable.plan
    for call, launches in zip(plan.program.calls, launches_of(plan, device.traits), strict=True):
        spent[call.kernel] += time_launches(device, launches, executable.locate)
        flops[call.kernel] += product_operations(call)
        moved[call.kernel] += moved_bytes(call)
    for kernel, taken in spent.most_common():
        speed = f"{flops[kernel] / taken / 1e9:.2f} GFLOP/s " if flops[kernel] else ""
        report(f"webgpu_kernel_{kernel}_ms", taken * 1e3, f"{speed}{moved[kernel] / taken / 1e9:.2f} GB/s")
    training.close()
    model.close()


def dispatches_per_layer(training: TrainingStep) -> tuple[float, int]:
    """Dispatches that one more layer adds to a step, and those of a model without layers."""
    device = training.device
    counts = []
    for layers in (1, 2):
        model = engine.create_model({**CONFIG_S, "num_hidden_layers": layers}, device=device)
        smaller = model.training_step("full", BATCH, LENGTH)
        counts.append(len(smaller.executables[0].launches))
        smaller.close()
        model.close()
    return counts[1] - counts[0], 2 * counts[0] - counts[1]
