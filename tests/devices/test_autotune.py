"""Which variant of the matrix product is taken: measured once, kept, and measured again when the file is no good."""

from __future__ import annotations

import json

import pytest

from engine.devices.webgpu.autotune import CANDIDATES, cache_name, measured_variants, tuned_variants
from engine.devices.webgpu.launches.matmul import VARIANTS

ADAPTER = ("adapter", "driver", "1.0", True)


def measure_for(fastest: str, calls: list):
    """A device on which every product takes a second, and those of one variant half of it."""

    def measure(launches) -> float:
        calls.append(launches)
        return 0.5 if fastest in launches[0].shader else 1.0

    return measure


@pytest.mark.parametrize("fastest", CANDIDATES[True])
def test_the_fastest_is_taken_and_kept(tmp_path, fastest):
    calls: list = []
    found = tuned_variants(tmp_path / "new", *ADAPTER, measure_for(fastest, calls), budget=1e9)
    assert set(found.values()) == {fastest}
    (kept,) = (tmp_path / "new").iterdir()
    assert json.loads(kept.read_text()) == found
    count = len(calls)
    assert tuned_variants(tmp_path / "new", *ADAPTER, measure_for(fastest, calls)) == found
    assert len(calls) == count


@pytest.mark.parametrize("content", ["", "[]", '{"nt_square": "no such variant"}'])
def test_a_damaged_file_is_measured_again(tmp_path, content):
    path = tmp_path / cache_name(*ADAPTER[:3])
    path.write_text(content)
    found = tuned_variants(tmp_path, *ADAPTER, measure_for("tiled_32", []), budget=1e9)
    assert set(found.values()) <= set(VARIANTS) and json.loads(path.read_text()) == found


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path):
    (tmp_path / "file").write_text("")
    assert tuned_variants(tmp_path / "file" / "folder", *ADAPTER, measure_for("tiled_32", []), budget=1e9)


def test_another_driver_is_another_file():
    assert cache_name("adapter", "1", "1.0") != cache_name("adapter", "2", "1.0")


def test_what_is_far_behind_is_given_up_and_time_may_run_out():
    calls: list = []

    def measure(launches) -> float:
        calls.append(launches[0].shader)
        return 100.0 if "registers_16" in launches[0].shader else 1.0

    measured_variants(True, measure, budget=1e9)
    assert sum("registers_16" in shader for shader in calls) == 4  # once to compile and three times, in one class
    clock = iter([0.0, 1.0, 9.0])
    assert len(measured_variants(True, lambda launches: 1.0, budget=5.0, clock=lambda: next(clock))) == 1
