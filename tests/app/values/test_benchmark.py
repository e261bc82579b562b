"""A benchmark as text and as JSON."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from app import VERSION
from app.values.benchmark import CACHES, OTHERS, as_json, benchmark_text, brief, figure
from engine.benchmark.machine import Machine
from engine.benchmark.results import Benchmark, KernelTime, Omission, Speed
from engine.devices.interface import Peaks

MACHINE = Machine(
    "A processor",
    8,
    "webgpu:0",
    "A graphics card",
    "Vulkan",
    "discrete",
    "driver 1.2",
    ("shader-f16",),
    "Debian 12",
    (),
)
RESULT = Benchmark(
    MACHINE,
    Peaks(5e12, 2e11),
    Peaks(1e11, 2e10),
    (Speed("small", "training", 12_345.0, 678.9), Speed("small", "decoding", 150.0)),
    (
        KernelTime("matmul_nt", "1024×512×256", 1e-3, 2.5e9, 1e7, "small, training", 6, 0.75),
        KernelTime("gate", "1024×512", 1e-4, 0.0, 6e6, "small, training", 20, 0.25),
        KernelTime("fill", "64", 1e-6, 0.0, 256.0),
    ),
    (Omission("large, training", "there was not enough time"),),
    95.0,
    True,
)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (12_345, "12,300"),
        (999.6, "1,000"),
        (456.4, "456"),
        (99.96, "100"),
        (7.891, "7.89"),
        (0.01234, "0.012"),
        (0, "0"),
    ],
)
def test_a_figure_has_three_digits(value, words):
    assert figure(value) == words


@pytest.mark.parametrize(("seconds", "words"), [(1.2e-6, "1.20 µs"), (4.56e-3, "4.56 ms"), (0.9999, "1.00 s")])
def test_a_time_is_brief(seconds, words):
    assert brief(seconds) == words


def test_the_text_has_the_machine_the_limits_and_every_kernel_under_its_heading():
    lines = benchmark_text(RESULT).splitlines()
    assert lines[0] == "```text" and lines[-1] == "```"
    assert lines[1] == f"Codecoil {VERSION}, benchmark of webgpu:0, 1:35"
    text = "\n".join(lines)
    for said in ("A graphics card, graphics card, Vulkan", "driver 1", "shader-f16", "A processor, 8 threads"):
        assert said in text
    assert "5,000 GFLOP/s, 200 GB/s" in text and "100 GFLOP/s, 20.0 GB/s" in text
    assert "Not measured (there was not enough time): large, training" in text
    (first,) = (line for line in lines if " matmul_nt " in line)
    assert first.split() == ["75", "%", "matmul_nt", "1024×512×256", "6", "1.00", "ms", "2,500", "10.0", "50", "%"]
    (speed,) = (line for line in lines if line.startswith("small, training  "))
    assert speed.split()[2:] == ["12,300", "679"]
    assert text.index("small, training: 8.00 ms in kernels") < text.index("matmul_nt") < text.index(OTHERS)
    assert text.index(OTHERS) < text.index("fill") and CACHES not in text


def test_columns_stand_under_their_headings():
    lines = benchmark_text(RESULT).splitlines()
    at = next(i for i, line in enumerate(lines) if "GFLOP/s" in line and "kernel" in line)
    heading, *rows = lines[at : at + 3]
    assert {len(line) for line in (heading, *rows)} == {len(heading)}
    assert all(line.index(name) == heading.index("kernel") for line, name in zip(rows, ("matmul", "gate"), strict=True))


def test_more_than_the_limit_is_explained():
    fast = replace(RESULT, peaks=Peaks(1e9, 1e9))
    assert CACHES in benchmark_text(fast)


def test_one_that_was_cancelled_before_anything_was_measured_says_so():
    text = benchmark_text(Benchmark(MACHINE))
    assert "cancelled" in text and "not measured" in text


def test_on_the_processor_there_is_one_column_of_speeds():
    machine = replace(MACHINE, device="cpu", kind="cpu", name="A processor", backend="NumPy + Numba")
    text = benchmark_text(replace(RESULT, machine=machine, cpu_peaks=None))
    assert "CPU limit" not in text and "BLAS product" in text
    (speed,) = (line for line in text.splitlines() if line.startswith("small, training  "))
    assert speed.split()[2:] == ["12,300"]


def test_the_json_has_everything():
    found = json.loads(json.dumps(as_json(RESULT)))
    assert found["machine"]["versions"]["codecoil"] == VERSION
    assert found["kernels"][0]["kernel"] == "matmul_nt" and found["kernels"][0]["operations"] == 2.5e9
    assert found["peaks"]["flops_per_second"] == 5e12 and found["speeds"][1]["cpu"] is None
    assert found["omitted"] == [{"what": "large, training", "why": "there was not enough time"}]
