"""CONTRIBUTING.md's first kernel and first block, done as they are written: every step in a copy of the tree, and its
tests.

A step is a numbered paragraph; the first path in it that has a suffix is the file that its code goes to.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[1]
NEEDED = ("engine", "shaders", "tests/kernels", "tests/devices", "tests/model", "tests/conftest.py", "pyproject.toml")
KERNEL, BLOCK = "## A first kernel in ten minutes", "## A first block"
PLACES = {
    "engine/graph/kernels.py": ("    for kernel in (\n",),
    "engine/devices/webgpu/launches/elementwise.py": ("", "LAUNCHES = {\n"),
    "tests/kernels/comparison.py": ("LIMITS = {\n",),
}
"""The line that a step's code goes under, for each of its pieces; "" and what is not here: any place of the file."""
ABOVE = {"engine/devices/reference.py": "_REFERENCES", "engine/devices/webgpu/launches/elementwise.py": "LAUNCHES"}
"""The name that the code must be above of: it is looked up when the module is loaded."""


def steps(heading: str) -> dict[str, list[str]]:
    """The pieces of code of each step of a chapter, by the file that they go to."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    chapter = text.split(heading + "\n")[1].split("\n## ")[0]
    found = {}
    for step in re.split(r"^\d+\. ", chapter, flags=re.MULTILINE)[1:]:
        code = [
            textwrap.dedent(piece) for piece in re.findall(r"^ +```(?:python|wgsl)\n(.*?)^ +```", step, re.M | re.S)
        ]
        if code:
            found[re.search(r"`([\w/]+\.\w+)`", step)[1]] = code
    return found


def put(tree: Path, path: str, pieces: list[str]) -> None:
    """What a reader does with a step: a new file, lines of a table, or functions."""
    file = tree / path
    if not file.exists():
        (piece,) = pieces
        file.write_text(piece, encoding="utf-8")
        return
    text = file.read_text(encoding="utf-8")
    for piece, under in zip(pieces, PLACES.get(path, ("",)), strict=True):
        if under:
            assert text.count(under) == 1, f"{path} has no single line {under!r}"
            text = text.replace(under, under + piece)
        elif path in ABOVE:
            head, name, tail = text.rpartition(f"\n{ABOVE[path]}")
            assert name, f"{path} has no {ABOVE[path]}"
            text = f"{head}\n\n{piece}\n{name}{tail}"
        else:
            text = f"{text}\n\n{piece}"
    file.write_text(text, encoding="utf-8")


def copied_tree(folder: Path) -> Path:
    """The folders that a kernel needs, without anything that was compiled."""
    for name in NEEDED:
        source, target = ROOT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
    return folder


def run(tree: Path, *arguments: str) -> subprocess.CompletedProcess:
    """Python in the copy; the copy's modules come before the installed ones."""
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    return subprocess.run(
        [sys.executable, *arguments], cwd=tree, env=environment, capture_output=True, text=True, timeout=600
    )


def test_the_steps_as_written_give_a_kernel_that_passes_on_both_devices(tmp_path):
    tree = copied_tree(tmp_path / "tree")
    for path, pieces in steps(KERNEL).items():
        put(tree, path, pieces)

    home = run(tree, "-c", "import engine.graph.kernels as k; print(k.__file__, 'scale_rows' in k.KERNELS)")
    assert home.stdout.split() == [str(tree / "engine/graph/kernels.py"), "True"], home.stderr

    tests = run(tree, "-m", "pytest", "-v", "-p", "no:cacheprovider", "tests/kernels/test_scale_rows.py")
    assert tests.returncode == 0, tests.stdout[-3000:]
    assert {"cpu", "webgpu"} <= set(re.findall(r"\[(\w+?)-", tests.stdout))


def test_every_file_that_the_steps_name_is_there_or_new():
    new = {path for path in steps(KERNEL) if not (ROOT / path).exists()}
    assert new == {"shaders/scale_rows.wgsl", "tests/kernels/test_scale_rows.py"}
    assert len(steps(KERNEL)) == 8


def test_the_steps_as_written_give_a_block_that_trains_and_decodes_on_both_devices(tmp_path):
    tree = copied_tree(tmp_path / "tree")
    found = steps(BLOCK)
    assert len(found) == 3 and not any((ROOT / path).exists() for path in found)
    for path, pieces in found.items():
        put(tree, path, pieces)
    tests = run(tree, "-m", "pytest", "-v", "-p", "no:cacheprovider", "tests/model/test_small_mlp.py")
    assert tests.returncode == 0, tests.stdout[-3000:]
    assert {"cpu", "webgpu"} <= set(re.findall(r"\[(\w+?)\]", tests.stdout))
