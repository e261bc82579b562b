"""What is fastest on an adapter: measured once, kept, and measured again when the file is no good."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import asdict, replace

import pytest

from engine.devices.webgpu import autotune
from engine.devices.webgpu import device as device_module
from engine.devices.webgpu.autotune import (
    CANDIDATES,
    ENOUGH,
    LOGITS_BYTES,
    SAMPLES,
    SCAN_LANES,
    Tuning,
    cache_name,
    measure,
    tuned,
)
from engine.devices.webgpu.executable import Bench
from engine.devices.webgpu.launches import fused
from engine.devices.webgpu.launches.matmul import LAYOUTS, shape_class

ADAPTER = ("adapter", "driver", "1.0")


class PlayedBench:
    """A device on which a launch takes as long as the test says; it keeps what was run."""

    def __init__(self, seconds_of=lambda launch: 0.001, works: bool = True) -> None:
        self._seconds_of, self._works = seconds_of, works
        self.runs: list = []
        self.cleared = 0

    def computes(self) -> bool:
        return self._works

    def seconds(self, launches) -> float:
        self.runs.append(launches)
        return sum(map(self._seconds_of, launches))

    def clear(self) -> None:
        self.cleared += 1


def fastest(name: str) -> PlayedBench:
    def seconds_of(launch) -> float:
        return 1e-6 if "add_parts" in launch.shader else 5e-4 if name in launch.shader else 1e-3

    return PlayedBench(seconds_of)


@pytest.mark.parametrize("software", [True, False])
def test_the_fastest_is_taken_and_kept(tmp_path, software):
    for name in CANDIDATES[software]:
        folder, bench = tmp_path / name, fastest(name)
        found = tuned(folder, ADAPTER, software, bench)
        assert set(found.matmul_variants.values()) == {name}
        classes = {shape_class(layout, *shape) for layout in LAYOUTS for shape in SAMPLES[software][layout]}
        assert set(found.matmul_variants) == classes and len(classes) == (12 if software else 15)
        (kept,) = folder.iterdir()
        assert json.loads(kept.read_text()) == asdict(found)
        count = len(bench.runs)
        assert tuned(folder, ADAPTER, software, bench) == found and len(bench.runs) == count
        assert bench.cleared >= len(classes)


def test_a_run_is_long_enough_to_mean_something_and_candidates_take_turns():
    bench = PlayedBench(lambda launch: 3e-4 if launch.shader.startswith("selective_scan_") else 1e-3)
    measure(False, bench)
    timed = bench.runs[-2 * autotune.RUNS :]
    assert all(sum(map(bench._seconds_of, runs)) >= ENOUGH[False] for runs in timed)
    chunked, lanes = "selective_scan_chunk", "selective_scan"
    assert [runs[0].shader for runs in timed] == [chunked, lanes, lanes, chunked, chunked, lanes]


def test_a_clock_that_stands_still_does_not_make_it_last_for_ever():
    bench = PlayedBench(lambda launch: 0.0)
    measure(False, bench)
    assert max(map(len, bench.runs)) == autotune.MOST_DISPATCHES


def test_a_gpu_that_has_saved_power_gets_up_to_speed_first():
    bench = PlayedBench()
    measure(False, bench)
    behind = itertools.takewhile(lambda runs: runs == bench.runs[2], bench.runs[2:])  # the first two compile
    assert sum(sum(map(bench._seconds_of, runs)) for runs in behind) >= autotune.WARM[False]


def test_sums_that_are_shared_out_are_measured_with_what_adds_them_up():
    bench = PlayedBench()
    measure(False, bench)
    assert any([launch.shader for launch in runs][-1] == "matmul_add_parts" for runs in bench.runs)


@pytest.mark.parametrize("best", fused.LANES)
def test_each_class_of_rows_gets_the_lanes_that_are_fastest(tmp_path, best):
    """In the head in float32 these are `best`, elsewhere 32."""

    def seconds_of(launch) -> float:
        if not launch.shader.startswith("norm_matmul_nt"):
            return 1e-3
        is_head = launch.shader == "norm_matmul_nt" and launch.bindings[3].shape[1] > fused.CLASSES["many"]
        return 1e-4 if launch.constants["lanes"] == (best if is_head else 32) else 2e-4

    bench = PlayedBench(seconds_of)
    found = tuned(tmp_path, ADAPTER, False, bench)
    classes = {f"{one}_{kind}" for one in ("float32", "float16", "int8") for kind in (*fused.CLASSES, "head")}
    assert found.row_lanes == dict.fromkeys(classes, 32) | {"float32_head": best}
    assert tuned(tmp_path, ADAPTER, False, PlayedBench(works=False)) == found  # from the file
    assert not any(launch.shader.startswith("norm_") for runs in played(measure, True).runs for launch in runs)


def played(run, software: bool) -> PlayedBench:
    bench = PlayedBench()
    run(software, bench)
    return bench


def test_matrices_are_gone_through_as_in_a_token_not_read_from_a_cache():
    ran = {len(runs) for runs in played(measure, False).runs if runs[0].shader.startswith("norm_matmul_nt")}
    for sample in autotune.ROWS:
        launches = fused.sample_rows(*sample, fused.LANES[0], autotune.COLD)
        assert len(launches) in ran
        (matrix,) = {launch.bindings[2].tensor for launch in launches}
        places = [launch.bindings[2].offset for launch in launches]
        assert places == list(range(0, matrix.size, matrix.size // len(launches)))
        assert len({launch.parameters for launch in launches}) == len(launches)
        assert autotune.COLD / 2 < matrix.nbytes <= autotune.COLD or len(launches) == fused.MOST_SAMPLES


def test_no_two_candidates_are_the_same():
    """Of lanes that would have nothing to do, a launch takes none."""
    for sample in autotune.ROWS:
        chunks = sample[2] // fused.CHUNKS[sample[0]][0]
        most = min(256, max(64, 1 << (chunks - 1).bit_length()))
        assert autotune.row_candidates(*sample) == [lanes for lanes in fused.LANES if lanes <= most]


def test_what_is_measured_of_rows_runs(webgpu):
    bench = Bench(webgpu)
    try:
        for sample in autotune.ROWS:
            lanes = autotune.row_candidates(*sample)[-1]
            assert bench.seconds(fused.sample_rows(*sample, lanes, 1 << 20)) > 0
    finally:
        bench.clear()


@pytest.mark.parametrize("few", [0, *SCAN_LANES])
def test_chunks_of_the_scan_are_taken_up_to_where_they_stop_helping(few):
    def seconds_of(launch) -> float:
        if not launch.shader.startswith("selective_scan_"):
            return 1.0
        tokens, width = launch.bindings[0].shape
        return 0.1 if tokens // autotune.SCAN_LENGTH * width <= few else 0.5

    assert measure(False, PlayedBench(seconds_of)).few_lanes == max(2 * few, SCAN_LANES[0])


@pytest.mark.parametrize("best", LOGITS_BYTES)
def test_no_more_logits_are_held_than_make_it_faster(best):
    """A row costs the same from `best` bytes on, and less than with fewer."""

    def seconds_of(launch) -> float:
        rows = {nbytes // 4 // autotune.VOCABULARY: nbytes for nbytes in LOGITS_BYTES}
        shape = launch.bindings[0].shape
        nbytes = rows.get(shape[0]) or rows.get(shape[-1])
        return 1e-3 if nbytes is None else max(nbytes, best) * 1e-9

    assert measure(False, PlayedBench(seconds_of)).logits_bytes == best


@pytest.mark.parametrize(
    "content",
    [
        *("", "[]", "{}", json.dumps(asdict(Tuning()) | {"matmul_variants": {"nt_square": "no such variant"}})),
        *(json.dumps(asdict(Tuning()) | {"row_lanes": lanes}) for lanes in ({"float32_few": 65}, [64])),
        json.dumps({name: value for name, value in asdict(Tuning()).items() if name != "row_lanes"}),
    ],
)
def test_a_damaged_file_is_measured_again(tmp_path, content):
    path = tmp_path / cache_name(*ADAPTER)
    path.write_text(content)
    found = tuned(tmp_path, ADAPTER, True, fastest("tiled_32"))
    assert set(found.matmul_variants.values()) == {"tiled_32"} and json.loads(path.read_text()) == asdict(found)


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path):
    (tmp_path / "file").write_text("")
    assert tuned(tmp_path / "file" / "folder", ADAPTER, True, fastest("tiled_32")).matmul_variants


def test_another_driver_is_another_file():
    assert cache_name("adapter", "1", "1.0") != cache_name("adapter", "2", "1.0")


def test_a_device_that_computes_nothing_is_not_measured(tmp_path):
    bench = PlayedBench(works=False)
    assert tuned(tmp_path, ADAPTER, False, bench) == Tuning()
    assert bench.runs == [] and list(tmp_path.iterdir()) == []


def test_what_is_far_behind_is_given_up():
    bench = PlayedBench(lambda launch: 100.0 if "registers_16" in launch.shader else 1.0)
    measure(True, bench, budget=math.inf)
    hopeless = [runs for runs in bench.runs if "registers_16" in runs[0].shader]
    assert len(hopeless) == 2  # once to compile and once to see


def test_time_may_run_out():
    clock = iter([0.0, 1.0, 9.0])
    assert len(measure(True, PlayedBench(), budget=5.0, clock=lambda: next(clock)).matmul_variants) == 1


def test_it_says_how_far_it_is_and_can_be_cancelled(tmp_path):
    heard = []

    def progress(done: int, total: int, what: str) -> None:
        heard.append((done, total))
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tuned(tmp_path, ADAPTER, False, PlayedBench(), progress)
    assert [done for done, _ in heard] == [0, 1, 2, 3] and not list(tmp_path.iterdir())
    heard.clear()
    measure(True, PlayedBench(), lambda done, total, what: heard.append((done, total)))
    assert heard == [(done, 12) for done in range(13)]


@pytest.mark.parametrize(
    "software, ceiling, logits", [(False, 3 << 30, 112 << 20), (False, 24 << 20, 1 << 20), (True, 3 << 30, 0)]
)
def test_a_device_uses_what_was_measured_within_its_ceiling(fresh_webgpu, monkeypatch, software, ceiling, logits):
    found = Tuning({"nt_square": "tiled_64"}, 8192, 112 << 20, {"int8_few": 128})
    monkeypatch.setattr(device_module, "tuned", lambda *arguments: found)
    fresh_webgpu.adapter = replace(fresh_webgpu.adapter, kind="software" if software else "integrated")
    fresh_webgpu.ledger.ceiling = ceiling
    fresh_webgpu.tune(None)
    assert fresh_webgpu.traits.matmul_variants == found.matmul_variants and fresh_webgpu.traits.few_lanes == 8192
    assert fresh_webgpu.traits.row_lanes == found.row_lanes
    assert fresh_webgpu.logits_bytes == logits
