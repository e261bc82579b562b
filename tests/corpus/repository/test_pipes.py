"""Pipes in place of files: nothing in a user's folder is opened in a way that could block forever."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from sources import fill, write

from app.window.complete.file_access import read_text
from engine.corpus.reading import git
from engine.corpus.reading.settings import HeldOutBy, ScanSettings
from engine.corpus.repository import Repository

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")

HANG = 300  # seconds after which a command that should take one or two counts as hung
CHECKOUT = Path(__file__).parents[3]
# Runs the command with every opening watched: a plain one below the folder is reported, whatever kind of file it met.
WATCHED = """
import os, sys
root = sys.argv[1] + os.sep
plain = []
def watch(event, arguments):
    if event == "open" and isinstance(arguments[0], str | bytes) and os.fsdecode(arguments[0]).startswith(root):
        if not arguments[2] & os.O_NONBLOCK:
            plain.append(os.fsdecode(arguments[0]))
sys.addaudithook(watch)
from app.command_line import main
code = main(sys.argv[2:])
if plain:
    print("opened in the plain way:", plain, file=sys.stderr)
sys.exit(1 if plain else code)
"""


def scanned(root: Path, data: Path) -> dict[str, str | None]:
    """Every file of `codecoil scan` with the reason why it is left out."""
    command = [sys.executable, "-c", WATCHED, str(root), "scan", str(root), "--json", "--data-dir", str(data)]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, timeout=HANG, check=False)
    assert done.returncode == 0, done.stderr
    return {file["path"]: file["reason"] for file in json.loads(done.stdout)["files"]}


def git_file(root: Path, *pipes: str) -> None:
    """`.git` as a file, as in a worktree, with pipes in the folder that it names."""
    write(root, ".git", "gitdir: ../away\n")
    for name in pipes:
        place = root.parent / "away" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(place)


@pytest.mark.parametrize("name", [".git", "lib/.git", ".gitignore", "lib/.gitignore", ".codecoilignore",
                                  ".git/info/exclude", ".git/HEAD", ".git/config", ".gitattributes", "a.py",
                                  "README.md", "package.json", ".gitmodules"])  # fmt: skip
def test_a_pipe_in_the_place_of_a_file(root, data, name):
    paths = fill(root, 4)
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(root / name)
    found = scanned(root, data)
    assert [found[path] for path in paths] == [None] * 4
    assert found.get(name, "unreadable") == "unreadable"


@pytest.mark.parametrize("pipes", [["commondir"], ["info/exclude"], ["commondir", "info/exclude", "HEAD", "config"]])
def test_a_pipe_behind_a_git_file(root, data, pipes):
    paths = fill(root, 4)
    git_file(root, *pipes)
    assert [scanned(root, data)[path] for path in paths] == [None] * 4


def test_a_pipe_above_the_folder(root, data):
    os.mkfifo(root.parent / ".git")
    os.mkfifo(root.parent / ".gitignore")
    paths = fill(root, 4)
    assert [scanned(root, data)[path] for path in paths] == [None] * 4


def test_a_link_to_a_pipe(root, data):
    os.mkfifo(root.parent / "pipe")
    for name in (".git", ".gitignore", "a.py"):
        (root / name).symlink_to(root.parent / "pipe")
    paths = fill(root, 4)
    assert [scanned(root, data)[path] for path in paths] == [None] * 4


def test_every_file_that_is_read_is_opened_the_safe_way(root, data):
    """Without any pipe: what a plain open would meet here, it would meet there."""
    paths = fill(root, 4)
    write(root, ".gitignore", "*.log\n")
    write(root, ".codecoilignore", "*.tmp\n")
    write(root, "lib/.gitignore", "x\n")
    git_file(root)
    write(root.parent, "away/commondir", "common\n")
    write(root.parent, "away/common/info/exclude", f"{paths[0]}\n")
    assert [scanned(root, data)[path] for path in paths] == ["ignored", None, None, None]


def test_git_itself_is_not_waited_for(root, data, monkeypatch):
    """Git opens what it finds in the plain way; it is ended after a while, and the files' names decide."""
    monkeypatch.setattr(git, "PATIENCE", 0.5)
    paths = fill(root, 12)
    for folder in ("objects", "refs"):
        (root / ".git" / folder).mkdir(parents=True)
    os.mkfifo(root / ".git" / "HEAD")
    repository = Repository(root, data, settings=ScanSettings(held_out_by=HeldOutBy.COMMITS))
    assert {verdict.path for verdict in repository.list_files().files if verdict.learn} == set(paths)
    assert git.ask_git(root, ["log", "--format=%H"]) is None


def test_the_editor_does_not_wait_for_a_pipe(tmp_path):
    os.mkfifo(tmp_path / "a.py")
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(read_text, str(tmp_path), "a.py")
        try:
            text, problem = reading.result(timeout=HANG)
        finally:
            os.close(os.open(tmp_path / "a.py", os.O_RDWR | os.O_NONBLOCK))  # releases a reader that is waiting
    assert text is None and "a.py" in problem
