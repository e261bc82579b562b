"""What can be known about real GPUs on a machine without one.  NOT times on hardware: no kernel runs here.

    python tests/benchmarks/gpu_paper.py [code] [model] [host]

code    every shader compiled by AMD's and Intel's Vulkan drivers whose kernel side is a fake: registers, waves, spills,
        instructions, the share of multiply-adds in the hottest loop
model   dispatches, smallest grids, operations and bytes of training and decoding at S, at M and of a hybrid of 0.35 B
        weights, and from the machine code, on paper, the times on five GPUs
host    milliseconds that Python and the driver take for a step and a token on that driver, which executes nothing

Ends with the bounds that do not hold, and fails if there are any: no spill, at least 4 waves on gfx1150, at least 65 %
multiply-adds in the turn of a product over tiles, at least 64 workgroups in a kernel that does above 1 % of the
operations.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
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
        part, gpu, folder = sys.argv[2:]
        {"code": compile_all, "model": model_all, "host": time_host}[part](gpu, Path(folder))
        return
    chosen = sys.argv[1:] or ["code", "model", "host"]
    report("gpu_paper", "nothing here is a time on hardware: machine code, counts, and a model on paper")
    missed: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for gpu in GPUS if "code" in chosen else _of_the_model() if "model" in chosen else ():
            missed += _child("code", gpu, folder, shown="code" in chosen)
        for part in ("model", "host"):
            missed += _child(part, JUDGED_GPU, folder) if part in chosen else []
    for miss in missed:
        report("missed", miss)
    raise SystemExit(bool(missed))


def _of_the_model() -> list[str]:
    from paper_model import GPUS as PAPER_GPUS

    return sorted({gpu.code for gpu in PAPER_GPUS.values()})


def _child(part: str, gpu: str, folder: str, shown: bool = True) -> list[str]:
    """Run a part in a process that finds only this GPU; the bounds that it misses."""
    try:
        variables = environment(gpu, dump=part == "code")
    except Unavailable as why:
        report(f"{part}_{gpu}", f"left out: {why}")
        return []
    command = [sys.executable, __file__, "child", part, gpu, folder]
    done = subprocess.run(command, env=variables, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{part} on {gpu} failed:\n{done.stderr[-2000:]}")
    lines = done.stdout.splitlines() if shown else []
    print(*(line for line in lines if not line.startswith("missed=")), sep="\n", flush=True)
    return [line.removeprefix("missed=") for line in lines if line.startswith("missed=")]


def _opened():
    from engine.devices.ledger import Ledger
    from engine.devices.webgpu.adapters import list_adapters
    from engine.devices.webgpu.device import WebGpuDevice

    adapters = [a for a in list_adapters() if a.backend == "Vulkan" and not a.software]
    return WebGpuDevice(adapters[0], Ledger(CEILING))


# ---- machine code


def compile_all(gpu: str, folder: Path) -> None:
    """Every pipeline that a GPU uses, compiled one by one, and what the driver prints about it."""
    from paper_model import launch_name

    from engine.devices.webgpu.launches import launches_of
    from tests.shaders.variants import sample_launches

    device = _opened()
    launches = {}
    for launch in sample_launches(software=False):
        launches.setdefault(launch_name(launch), launch)
    for workload in _workloads().values():
        for of_call in launches_of(device.plan(workload.program(device)), device.traits):
            launches.update({launch_name(launch): launch for launch in of_call})
    first = next(iter(launches.values()))
    device.pipelines.get(first)  # wgpu compiles kernels of its own with the first
    device.pipelines._pipelines.clear()
    codes = dict(_codes(device, launches))
    for name, code in codes.items():
        _report_code(gpu, name, launches[name].shader, code)
    (folder / f"{gpu}.json").write_text(json.dumps({name: code.as_json() for name, code in codes.items()}))
    device.close()


def _codes(device, launches: dict) -> Iterator[tuple[str, Code]]:
    """By name; of two shaders with the same text and constants, the driver compiles only one."""
    from engine.devices.webgpu.shaders import shader_source

    known: dict[tuple, Code] = {}
    for name, launch in launches.items():
        source = shader_source(launch.shader, tuple(launch.header.items()))
        same = (*(line for line in source.splitlines() if not line.lstrip().startswith("//")), str(launch.constants))
        if same not in known:
            known[same] = read_code(_printed(lambda launch=launch: device.pipelines.get(launch)))
        yield name, known[same]


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
    from paper_model import turn_of

    turn = turn_of(shader, code)
    report(
        f"{gpu}_{name}",
        f"registers {code.registers} waves {code.waves} spills {code.spills} shared {code.shared_bytes} instructions "
        f"{code.instructions} hottest_loop {turn.vector:.0f} vector {turn.fma:.0f} fma {turn.shared:.0f} bytes_shared "
        f"{turn.memory:.0f} bytes_memory fma_share {turn.fma_share:.2f}",
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


def _workloads() -> dict:
    """What is modelled, by name.  The hybrid has the shape of granite-4.0-h-350m, with attention and Mamba-2."""
    from hybrid_model import GRANITE

    from engine.benchmark.workloads import Decoding, Training
    from engine.model.architectures.reading import config_from
    from engine.model.config import ModelConfig

    shapes = {size: (ModelConfig(**config), *sizes) for size, (config, *sizes) in SHAPES.items()}
    shapes["hybrid"] = (config_from(GRANITE), 1, 512)
    found = {f"train_{size}": Training(size, *shape) for size, shape in shapes.items()}
    for size, (config, *_) in shapes.items():
        for precision in ("float32", "int8"):
            found[f"decode_{size}_{precision}"] = Decoding(size, config, precision=precision)
    return found


def model_all(gpu: str, folder: Path) -> None:
    """Programs of training and decoding, as the GPU would get them, and what they would take on paper."""
    from paper_model import GPUS as PAPER_GPUS

    read = {file.stem: json.loads(file.read_text()) for file in folder.glob("*.json")}
    codes = {name: {key: Code.from_json(each) for key, each in content.items()} for name, content in read.items()}
    for missing in {each.code for each in PAPER_GPUS.values()} - set(codes):
        report(f"model_{missing}", f"no machine code: that of {gpu} stands in for it")
        codes[missing] = codes[gpu]
    device = _opened()
    for name, workload in _workloads().items():
        _report_program(name, device.plan(workload.program(device)), device.traits, workload, codes)
    device.close()


def _report_program(name: str, plan, traits, workload, codes) -> None:
    from paper_model import GPUS as PAPER_GPUS
    from paper_model import ideal_seconds, kernels_of

    kernels = kernels_of(plan, traits, workload.keys, codes)
    operations = sum(kernel.operations for kernel in kernels.values())
    report(f"{name}_dispatches", sum(kernel.dispatches for kernel in kernels.values()))
    report(f"{name}_gflop", operations / 1e9)
    report(f"{name}_gigabytes", sum(kernel.nbytes for kernel in kernels.values()) / 1e9)
    for kernel, sums in sorted(kernels.items(), key=lambda item: -item[1].seconds["rtx_3060"]):
        times = " ".join(f"{gpu} {sums.seconds[gpu] * 1e3:.3g}" for gpu in PAPER_GPUS)
        report(
            f"{name}_{kernel}",
            f"dispatches {sums.dispatches} gflop {sums.operations / 1e9:.3g} gb {sums.nbytes / 1e9:.3g} smallest_grid "
            f"{sums.smallest_grid} paper_ms {times}",
        )
        small = sums.operations > COUNTS_FROM * operations and sums.smallest_grid < LEAST_GROUPS
        if name.startswith("train") and small:
            report("missed", f"{kernel} of {name} has a grid of {sums.smallest_grid} workgroups")
    tokens = getattr(workload, "rows", 1) * getattr(workload, "length", 1)
    for gpu, figures in PAPER_GPUS.items():
        total = math.fsum(kernel.seconds[gpu] for kernel in kernels.values())
        share = ideal_seconds(plan, figures, workload.keys) / total
        report(f"{name}_{gpu}_paper_ms", total * 1e3, f"{tokens / total:.0f} tokens/s, {share:.0%} of the roofline")


# ---- the host


def time_host(gpu: str, folder: Path) -> None:
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
