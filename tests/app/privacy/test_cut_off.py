"""Private, provably: everything works with no network, and nothing so much as asks for one."""

from __future__ import annotations

import pytest

from engine.checkpoints.store import CheckpointStore

SHORT = ["--device", "cpu", "--batch-size", "2", "--sequence-length", "32", "--mode", "lora", "--steps", "4"]


def test_the_whole_work_is_done_without_a_network(cut_off, repository, tiny_base, data_folder, tmp_path):
    told = cut_off(
        "refuse",
        ["scan", str(repository)],
        ["train", str(repository), *SHORT, "--base", "tiny", "--json"],
        ["complete", "--prompt", "def price_", "--device", "cpu", "--max-tokens", "4"],
        ["score", str(repository), "--checkpoint", "shop #1", "--cursors", "1", "--device", "cpu"],
        ["checkpoints", "export", "shop #1", str(tmp_path / "export"), "--format", "hf"],
    )
    assert told["codes"] == [0, 0, 0, 0, 0], told["err"]
    assert (told["attempts"], told["tried_to_leave"]) == ([], 0)
    assert [m.name for m in CheckpointStore(data_folder / "checkpoints").list() if m.mode == "lora"] == ["shop #1"]
    assert {"config.json", "model.safetensors"} <= {path.name for path in (tmp_path / "export").iterdir()}
    assert "Bits per byte" in told["out"]


def test_no_module_asks_for_a_way_out_during_the_whole_tour(cut_off, tmp_path):
    told = cut_off("record", ["tour", "--brief", "--out", str(tmp_path / "tour")])
    assert told["codes"] == [0], told["err"]
    assert (told["attempts"], told["tried_to_leave"]) == ([], 0)
    assert len(list((tmp_path / "tour").glob("*.png"))) > 10


@pytest.mark.parametrize("planted", ["python", "compiled"])
def test_a_module_that_does_is_found(cut_off, planted):
    """The two tests above can fail: what a module tries is seen by the guard, compiled code by the kernel."""
    told = cut_off("record", ["checkpoints", "list"], planted=planted)
    if planted == "python":
        assert told["attempts"] == ["look up 192.0.2.1", "connect to 192.0.2.1, port 443"]
    assert told["tried_to_leave"] == (1 if told["namespace"] else 0)
