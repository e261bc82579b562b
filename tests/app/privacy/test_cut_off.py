"""Private, provably: everything works with no network, and nothing so much as asks for one."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from engine.checkpoints.store.store import CheckpointStore

ROOT = Path(__file__).parents[3]
FAULTS = {  # what the guard sees of each
    "python": ["look up 192.0.2.1", "connect to 192.0.2.1, port 443"],
    "python 6": ["look up 2001:db8::1", "connect to 2001:db8::1, port 443"],
    "compiled": [],
    "compiled 6": [],
    "resolver": [],
    "qt": [],
}
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


@pytest.mark.parametrize("planted", FAULTS)
def test_a_module_that_does_is_found(cut_off, planted):
    """The two tests above can fail: what a module tries is seen by the guard, compiled code by the kernel."""
    told = cut_off("record", ["checkpoints", "list"], planted=planted)
    assert told["codes"] == [0], told["err"]
    if not told["namespace"]:
        pytest.skip("this system lets nobody leave the network: there is no kernel to ask")
    assert told["attempts"] == FAULTS[planted]
    assert told["tried_to_leave"] >= 1


@pytest.mark.parametrize("planted", ["python", "python 6"])
def test_the_guard_alone_finds_it_too(cut_off, planted):
    told = cut_off("refuse", ["checkpoints", "list"], planted=planted, guard_only=True)
    assert (told["namespace"], told["codes"], told["attempts"]) == (False, [0], FAULTS[planted][:1]), told["err"]


def test_where_the_kernel_does_not_count_the_guard_still_watches(cut_off, repository):
    told = cut_off("refuse", ["scan", str(repository)], ["checkpoints", "list"], guard_only=True)
    assert told["codes"] == [0, 0], told["err"]
    assert (told["namespace"], told["attempts"]) == (False, [])


HALF_WAY = """
import os, no_network
before = os.readlink("/proc/self/ns/net"), os.readlink("/proc/self/ns/user")
def half_way():
    try:
        no_network.unshare(no_network.CLONE_NEWUSER | no_network.CLONE_NEWNET)
    finally:
        raise PermissionError(1, "Operation not permitted", "/proc/self/uid_map")
no_network.leave = half_way
assert no_network.cut_off() is False
assert before == (os.readlink("/proc/self/ns/net"), os.readlink("/proc/self/ns/user"))
"""
ELSEWHERE = """
import os, sys
sys.modules["fcntl"] = None
del os.fork
import no_network
assert no_network.cut_off() is False
"""


@pytest.mark.skipif(sys.platform != "linux", reason="namespaces are Linux's")
@pytest.mark.parametrize("program", [HALF_WAY, ELSEWHERE], ids=["a map that is refused", "a system without them"])
def test_a_system_that_does_not_let_us_leaves_us_as_we_were(program):
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT / "packaging", capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr


def test_nothing_of_qt_that_could_connect_is_imported():
    """The guard does not see Qt's sockets: the program has only those that stay on this machine."""
    found = set()
    for path in (ROOT / "app").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("PySide6.QtNetwork"):
                found |= {(path.name, each.name) for each in node.names}
            elif isinstance(node, ast.Attribute) and node.attr == "QtNetwork":
                found.add((path.name, "QtNetwork"))
            elif isinstance(node, ast.ImportFrom) and node.module == "PySide6":
                found |= {(path.name, each.name) for each in node.names if each.name == "QtNetwork"}
    assert found == {("single_instance.py", "QLocalServer"), ("single_instance.py", "QLocalSocket")}
