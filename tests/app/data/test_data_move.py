"""Moving the data folder: nothing is lost, wherever it is interrupted.  A killed program is a process that ends."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.data import data_move
from app.data.data_folder import data_folder
from app.data.data_move import (
    COPIED,
    MOVED,
    copy_all,
    delete_old,
    finish_move,
    old_folder,
    plan_move,
    read_move,
    undo_copy,
)
from engine.atomic_file import replacing
from engine.errors import ConfigError

FILES = {
    "settings.json": b"{}",
    "checkpoints/a/manifest.json": b'{"id": "a"}',
    "checkpoints/a/model.safetensors": bytes(range(256)) * 20_000,
    "tokens/x.bin": b"",
    "runs/r1/state": b"half of it",
}
KILLED = 9
SCRIPT = """
import os, sys
from pathlib import Path
from app.data import data_move
usual, target, where, when = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
calls = 0
def dying(plain):
    def call(*arguments, **options):
        global calls
        calls += 1
        if calls > when:
            os._exit({killed})
        return plain(*arguments, **options)
    return call
if where == "copy":
    plan = data_move.plan_move(usual, target)
    data_move.copy_all(usual, plan, dying(lambda done, total: None))
else:
    if where == "rename":
        os.replace = dying(os.replace)
        data_move.copy_all(usual, data_move.plan_move(usual, target), lambda done, total: None)
    os.replace = dying(os.replace)
    data_move.finish_move(usual)
""".replace("{killed}", str(KILLED))


def write(folder: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def read(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in data_move.files_of(folder)}


@pytest.fixture
def usual(tmp_path, monkeypatch):
    """The platform's place with some data in it, and nobody else who decides."""
    folder = tmp_path / "usual"
    write(folder, FILES)
    monkeypatch.delenv("CODECOIL_DATA")
    monkeypatch.setattr("app.data.data_folder.usual_folder", lambda: folder)
    return folder


@pytest.fixture
def target(tmp_path):
    return tmp_path / "new" / "place"


def silent(done: int, total: int) -> None:
    assert 0 <= done <= total


def copied(usual: Path, target: Path):
    return copy_all(usual, plan_move(usual, target), silent)


def test_the_plan_says_what_and_how_much(usual, target):
    plan = plan_move(usual, target)
    assert (plan.files, plan.nbytes) == (len(FILES), sum(map(len, FILES.values()))) and plan.free > plan.nbytes
    assert plan.target == str(target)
    write(target, {"mine.txt": b"1"})
    assert plan_move(usual, target).target == str(target / "Codecoil")


def test_a_file_that_is_being_written_is_left_behind_and_a_download_in_parts_is_not(usual, target):
    with replacing(usual / "checkpoints" / "half") as file:
        file.write(b"1")
        write(usual, {"downloads/mamba/model.safetensors.0123456789abcdef.part": b"2"})
        copied(usual, target)
    assert read(target) == FILES | {"downloads/mamba/model.safetensors.0123456789abcdef.part": b"2"}
    assert not list(target.glob("checkpoints/.*"))


def test_what_cannot_be_moved_to_is_refused_in_words(usual, target, monkeypatch):
    with pytest.raises(ConfigError, match="inside"):
        plan_move(usual, usual / "checkpoints" / "deeper")
    write(target, {"mine.txt": b"1", "Codecoil/other": b"2"})
    with pytest.raises(ConfigError, match="is not empty"):
        plan_move(usual, target)
    monkeypatch.setattr("shutil.disk_usage", lambda _path: type("Usage", (), {"free": 1000})())
    with pytest.raises(ConfigError, match="MB free"):
        plan_move(usual, target / "new")


def test_copied_now_switched_over_at_the_next_start_and_kept_until_it_is_deleted(usual, target):
    move = copied(usual, target)
    assert move.state == COPIED and data_folder() == usual and read(target) == FILES
    write(usual, {"settings.json": b'{"theme": "dark"}', "checkpoints/b/manifest.json": b"new"})
    (usual / "runs/r1/state").unlink()
    write(target, {"somebody.txt": b"else's"})
    assert finish_move(usual).state == MOVED
    expected = FILES | {"settings.json": b'{"theme": "dark"}', "checkpoints/b/manifest.json": b"new"}
    del expected["runs/r1/state"]
    assert data_folder() == target and read(target) == expected | {"somebody.txt": b"else's"}
    assert old_folder(usual) == usual and read(usual) == expected
    write(usual, {"checkpoints/late/manifest.json": b"by a command that still ran"})
    delete_old(usual, silent)
    assert read(usual) == {} and old_folder(usual) is None
    assert data_folder() == target and read(target)["checkpoints/late/manifest.json"].startswith(b"by a command")


def test_cancelled_or_undone_leaves_nothing(usual, target):
    class Enough(Exception):
        pass

    def end(done: int, total: int) -> None:
        if done > total // 2:
            raise Enough

    with pytest.raises(Enough):
        copy_all(usual, plan_move(usual, target), end)
    assert list(target.parent.iterdir()) == [] and read_move(usual) is None and read(usual) == FILES
    copied(usual, target)
    undo_copy(usual)
    assert not target.exists() and read_move(usual) is None and data_folder() == usual


def test_a_byte_that_arrives_otherwise_is_noticed(usual, target, monkeypatch):
    plain = data_move._hash
    monkeypatch.setattr(data_move, "_hash", lambda path, count: plain(path, count)[::-1])
    with pytest.raises(ConfigError, match="differs"):
        copied(usual, target)
    assert not target.exists() and read_move(usual) is None


@pytest.mark.parametrize(
    ("where", "when"), [("copy", 0), ("copy", 3), ("copy", 9), ("rename", 2), ("rename", 5), ("rename", 6)]
)
def test_a_kill_while_it_is_copied_leaves_the_old_one_in_use(usual, target, where, when):
    command = [sys.executable, "-c", SCRIPT, str(usual), str(target), where, str(when)]
    assert subprocess.run(command, env=os.environ, check=False).returncode == KILLED
    assert data_folder() == usual and read(usual) == FILES
    if read_move(usual) is None:
        copied(usual, target)
    assert finish_move(usual).state == MOVED and read(data_folder()) == FILES


@pytest.mark.parametrize("when", [0, 1, 2])
def test_a_kill_while_it_is_switched_over_is_made_up_for_at_the_next_start(usual, target, when):
    copied(usual, target)
    changed = {"settings.json": b"[1]", "checkpoints/c/manifest.json": b"c"}
    write(usual, changed)
    command = [sys.executable, "-c", SCRIPT, str(usual), str(target), "finish", str(when)]
    assert subprocess.run(command, env=os.environ, check=False).returncode == KILLED
    assert data_folder() == usual and read(usual) == FILES | changed
    assert finish_move(usual).state == MOVED and read(data_folder()) == FILES | changed


def test_a_disk_that_is_missing_is_said_and_a_copy_that_is_missing_changes_nothing(usual, target):
    copied(usual, target)
    target.rename(target.with_name("away"))
    assert finish_move(usual).state == COPIED and data_folder() == usual
    target.with_name("away").rename(target)
    finish_move(usual)
    target.rename(target.with_name("away"))
    with pytest.raises(ConfigError, match="does not exist") as refused:
        data_folder()
    assert "moved.json" in refused.value.remedy


@pytest.mark.parametrize(
    "note", [b"", b"[]", b'{"from": 1, "to": "/x", "state": "moved"}', b'{"from": "", "to": "/x"}']
)
def test_a_damaged_note_is_as_if_nothing_had_been_moved(usual, note):
    (usual / "moved.json").write_bytes(note)
    assert read_move(usual) is None and data_folder() == usual


def test_the_variable_decides(usual, target, monkeypatch, tmp_path):
    copied(usual, target)
    finish_move(usual)
    monkeypatch.setenv("CODECOIL_DATA", str(tmp_path / "mine"))
    assert data_folder() == tmp_path / "mine"


def test_the_window_switches_over_at_its_start(usual, target, qapp, monkeypatch):
    from app.desktop import _after_move
    from app.single_instance import SingleInstance

    copied(usual, target)
    instance = SingleInstance(usual)
    assert instance.claim()
    folder, second = _after_move(usual, instance)
    assert folder == target and second.name == SingleInstance(target).name
    third = SingleInstance(usual)
    assert third.claim()  # the old folder is nobody's now
    for each in (second, third):
        each.release()
    assert _after_move(target, second) == (target, second)
    monkeypatch.setattr("app.data.data_move.finish_move", broken)
    assert _after_move(usual, instance) == (usual, instance)


def broken(_usual: Path):
    raise OSError("no space left")
