"""What can be known about real GPUs on a machine without one.  NOT times on hardware: no kernel runs here.

    python tests/benchmarks/gpu_paper.py [code] [model] [host]

code    every shader compiled by AMD's Vulkan driver whose kernel side is a fake: registers, waves, spills,
        instructions, the share of multiply-adds in the hottest loop
model   dispatches, smallest grids, FLOPs and bytes of training and decoding at S and M, and on paper
        the times on five GPUs
host    milliseconds that Python and the driver take for a step and a token on that driver, which executes nothing

Ends with the bounds that do not hold, and fails if there are any: no spill, at least 4 waves on gfx1150, at least 65 %
multiply-adds in the turn of a product over tiles, at least 64 workgroups in a kernel that does above 1 % of the FLOPs.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from machine_code import Code, read_code
from measure import CONFIG_M, CONFIG_S, report, token_ids
from no_op_driver import GPUS, Unavailable, environment

JUDGED_GPU = "gfx1150"
LEAST_WAVES, LEAST_FMA, LEAST_GROUPS, COUNTS_FROM = 4, 0.65, 64, 0.01
SHAPES = {"s": (CONFIG_S, 4, 256), "m": (CONFIG_M, 2, 512)}
PROMPT = 512
CEILING = 16 * 2**30


def main() -> None:
    if sys.argv[1:2] == ["child"]:
        {"code": compile_all, "model": model_all, "host": time_host}[sys.argv[2]]()
        return
    chosen = sys.argv[1:] or ["code", "model", "host"]
    report("gpu_paper", "nothing here is a time on hardware: machine code, counts, and a model on paper")
    missed: list[str] = []
    for part, gpus in (("code", list(GPUS)), ("model", [JUDGED_GPU]), ("host", [JUDGED_GPU])):
        for gpu in gpus if part in chosen else ():
            missed += _child(part, gpu)
    for miss in missed:
        report("missed", miss)
    raise SystemExit(bool(missed))


def _child(part: str, gpu: str) -> list[str]:
    """Run a part in a process that finds only this GPU; the bounds that it misses."""
    try:
        variables = environment(gpu, dump=part == "code")
    except Unavailable as why:
        report(f"{part}_{gpu}", f"left out: {why}")
        return []
    command = [sys.executable, __file__, "child", part, gpu]
    done = subprocess.run(command, env=variables, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{part} on {gpu} failed:\n{done.stderr[-2000:]}")
    lines = done.stdout.splitlines()
    print(*(line for line in lines if not line.startswith("missed=")), sep="\n", flush=True)
    return [line.removeprefix("missed=") for line in lines if line.startswith("missed=")]


def _opened():
    from engine.devices.ledger import Ledger
    from engine.devices.webgpu.adapters import list_adapters
    from engine.devices.webgpu.device import WebGpuDevice

    adapters = [a for a in list_adapters() if a.backend == "Vulkan" and not a.software]
    return WebGpuDevice(adapters[0], Ledger(CEILING))


# ---- machine code


def compile_all() -> None:
    """Every pipeline that a GPU uses, compiled one by one, and what the driver prints about it."""
    from tests.shaders.variants import sample_launches

    gpu, device = sys.argv[3], _opened()
    launches = {}
    for launch in sample_launches(software=False):
        values = (*launch.header.items(), *launch.constants.items())
        name = "_".join([launch.shader, *(f"{key}{value:g}" for key, value in sorted(values))])
        launches.setdefault(name, launch)
    first = next(iter(launches.values()))
    device.pipelines.get(first)  # wgpu compiles kernels of its own with the first
    device.pipelines._pipelines.clear()
    for name, launch in launches.items():
        text = _printed(lambda launch=launch: device.pipelines.get(launch))
        if "SHADER STATS" not in text:
            report(f"{gpu}_{name}", "no figures from this driver")
            continue
        _report_code(gpu, name, launch.shader, read_code(text))
    device.close()


def _printed(run: Callable[[], object]) -> str:
    """What is written to file descriptor 2 meanwhile."""
    kept = os.dup(2)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 2)
        try:
            run()
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        file.seek(0)
        return file.read().decode(errors="replace")


def _report_code(gpu: str, name: str, shader: str, code: Code) -> None:
    turn = code.hottest
    report(
        f"{gpu}_{name}",
        f"registers {code.registers} waves {code.waves} spills {code.spills} shared {code.shared_bytes} instructions "
        f"{code.instructions} hottest_loop {turn.vector} vector {turn.fma} fma {turn.shared} shared {turn.memory} "
        f"memory fma_share {turn.fma_share:.2f}",
    )
    if code.spills:
        report("missed", f"{name} spills on {gpu}")
    if gpu == JUDGED_GPU and code.waves < LEAST_WAVES:
        report("missed", f"{name} has {code.waves} waves on {gpu}")
    if gpu == JUDGED_GPU and shader.startswith(chosen_product()) and turn.fma_share < LEAST_FMA:
        report("missed", f"{name} has {turn.fma_share:.0%} multiply-adds on {gpu}")


def chosen_product() -> str:
    """How the shaders of the product are called that a GPU takes for a large matrix by rule of thumb."""
    from engine.devices.webgpu.launches.matmul import default_variant

    return f"matmul_{default_variant(4096, 4096, 4096, software=False)}"


# ---- the model


def model_all() -> None:
    """Programs of training and decoding, as the GPU would get them, and what they would take on paper."""
    import engine
    from engine.generate.decoder import Decoder

    device = _opened()
    for size, (config, batch, length) in SHAPES.items():
        model = engine.create_model(config, device=device)
        training = model.training_step("full", batch, length)
        _report_program(f"train_{size}", training.executables[0].plan, device.traits, batch * length)
        training.close()
        for precision in ("float32", "int8"):
            decoder = Decoder(model, precision=precision)
            decoder.read_top([1], 8)
            plan = decoder._executable("read", 1, "top").plan
            _report_program(f"decode_{size}_{precision}", plan, device.traits, 1)
            decoder.close()
        model.close()
    device.close()


def _report_program(name: str, plan, traits, tokens: int) -> None:
    from paper_model import GPUS as PAPER_GPUS
    from paper_model import ideal_seconds, kernels_of

    kernels = kernels_of(plan, traits)
    flops = sum(kernel.flops for kernel in kernels.values())
    report(f"{name}_dispatches", sum(kernel.dispatches for kernel in kernels.values()))
    report(f"{name}_gflop", flops / 1e9)
    report(f"{name}_gigabytes", sum(kernel.nbytes for kernel in kernels.values()) / 1e9)
    for kernel, sums in sorted(kernels.items(), key=lambda item: -item[1].seconds["rtx_3060"]):
        times = " ".join(f"{gpu} {sums.seconds[gpu] * 1e3:.3g}" for gpu in PAPER_GPUS)
        report(
            f"{name}_{kernel}",
            f"dispatches {sums.dispatches} gflop {sums.flops / 1e9:.3g} gb {sums.nbytes / 1e9:.3g} smallest_grid "
            f"{sums.smallest_grid} paper_ms {times}",
        )
        if name.startswith("train") and sums.flops > COUNTS_FROM * flops and sums.smallest_grid < LEAST_GROUPS:
            report("missed", f"{kernel} of {name} has a grid of {sums.smallest_grid} workgroups")
    for gpu, traits_of_gpu in PAPER_GPUS.items():
        total = sum(kernel.seconds[gpu] for kernel in kernels.values())
        share = ideal_seconds(plan, traits_of_gpu) / total
        report(f"{name}_{gpu}_paper_ms", total * 1e3, f"{tokens / total:.0f} tokens/s, {share:.0%} of the roofline")


# ---- the host


def time_host() -> None:
    """The shortest of several, on a driver that finishes at once."""
    import engine
    from engine.generate.decoder import Decoder

    device = _opened()
    for size, (config, batch, length) in SHAPES.items():
        model = engine.create_model(config, device=device)
        training = model.training_step("full", batch, length)
        ids = token_ids(batch, length, config["vocab_size"])
        report(f"host_{size}_step_ms", 1e3 * _shortest(_step, training, ids), "(target at M <= 2)")
        training.close()
        decoder = Decoder(model)
        report(f"host_{size}_token_ms", 1e3 * _shortest(decoder.read_top, [1], 8), "(target at M <= 0.35)")
        report(f"host_{size}_greedy_token_ms", 1e3 * _shortest(decoder.greedy, 8, 1) / 8)
        prompt = list(range(1, PROMPT + 1))
        report(f"host_{size}_prompt_ms", 1e3 * _shortest(decoder.read_top, prompt, 8))
        decoder.close()
        model.close()
    device.close()


def _step(training, ids) -> None:
    from engine.model.step import AdamW

    training.run(ids, AdamW(), 1)()


def _shortest(run: Callable[..., object], *arguments, rounds: int = 15) -> float:
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        run(*arguments)
        times.append(time.perf_counter() - began)
    return min(times[1:])


if __name__ == "__main__":
    main()
