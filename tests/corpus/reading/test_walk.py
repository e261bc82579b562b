"""The walk: every file once, nothing outside, and nothing that ends it."""

from __future__ import annotations

import os
import subprocess
import time

import pytest

from engine.corpus.reading import walk as walking
from engine.corpus.reading.walk import walk, walk_some
from engine.errors import CorpusError


def fill(root, *paths, text="x = 1\n"):
    for path in paths:
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)


def found(root, **options):
    return {entry.path: entry for entry in walk(root, **options)}


def test_files_come_once_and_in_order(tmp_path):
    fill(tmp_path, "b.py", "a/z.py", "a/b/c.py", "a.py")
    assert [entry.path for entry in walk(tmp_path)] == ["a.py", "b.py", "a/z.py", "a/b/c.py"]
    entry = found(tmp_path)["a/z.py"]
    status = (tmp_path / "a/z.py").stat()
    assert (entry.size, entry.mtime_ns, entry.inode) == (status.st_size, status.st_mtime_ns, status.st_ino)


def test_not_a_folder(tmp_path):
    fill(tmp_path, "a.py")
    for path in (tmp_path / "a.py", tmp_path / "nowhere"):
        with pytest.raises(CorpusError, match=path.name):
            list(walk(path))


def test_never_enters_git(tmp_path):
    fill(tmp_path, ".git/config", "sub/.git/HEAD", "sub/a.py", ".github/ci.yml", ".hg/x")
    assert set(found(tmp_path)) == {"sub/a.py", ".github/ci.yml"}


def test_an_ignored_folder_is_one_entry(tmp_path):
    fill(tmp_path, "build/a.py", "build/deep/b.py", "c.py")
    (tmp_path / ".gitignore").write_text("build/\n")
    entries = found(tmp_path)
    assert set(entries) == {".gitignore", "build/", "c.py"}
    assert entries["build/"].ignored == ".gitignore line 1: build/"
    entries = found(tmp_path, enter_ignored=lambda folder: folder == "build")
    assert set(entries) == {".gitignore", "build/a.py", "build/deep/", "c.py"}
    assert entries["build/a.py"].ignored


def test_a_worktree_reads_the_exclude_file_of_its_repository(tmp_path):
    main, tree = tmp_path / "main", tmp_path / "tree"
    fill(main, "a.py")
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@x"]
    for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"], ["worktree", "add", "-q", str(tree)]):
        subprocess.run([*git, *command], cwd=main, check=True, capture_output=True)
    (main / ".git/info/exclude").write_text("*.log\n")
    fill(tree, "x.log")
    assert found(tree)["x.log"].ignored == ".git/info/exclude line 1: *.log"


def test_links_out_of_the_folder_are_not_followed(tmp_path):
    root = tmp_path / "root"
    fill(tmp_path, "outside/secret.py")
    fill(root, "a.py")
    (root / "file.py").symlink_to(tmp_path / "outside" / "secret.py")
    (root / "folder").symlink_to(tmp_path / "outside")
    (root / "up").symlink_to("..")
    (root / "beside").symlink_to(tmp_path / "root-beside")
    (tmp_path / "root-beside").mkdir()
    entries = found(root)
    assert {path for path, entry in entries.items() if entry.outside} == {"file.py", "folder", "up", "beside"}
    assert set(entries) == {"a.py", "file.py", "folder", "up", "beside"}


def test_links_inside(tmp_path):
    fill(tmp_path, "a.py", "src/b.py", ".git/hooks/x")
    (tmp_path / "again.py").symlink_to("a.py")
    (tmp_path / "code").symlink_to("src")
    (tmp_path / "hooks").symlink_to(".git/hooks")
    entries = found(tmp_path)
    assert entries["again.py"].link == "a.py" and not entries["again.py"].error
    assert entries["code/"].link == "src"
    assert entries["hooks"].outside
    assert "code/b.py" not in entries and "src/b.py" in entries


def test_a_linked_folder_that_is_met_nowhere_else_is_entered(tmp_path):
    fill(tmp_path, "out/gen/b.py", "a.py")
    (tmp_path / ".gitignore").write_text("/out\n")
    (tmp_path / "gen").symlink_to("out/gen")
    assert set(found(tmp_path)) == {".gitignore", "out/", "a.py", "gen/b.py"}


def test_loops_end(tmp_path):
    fill(tmp_path, "a/b/c.py")
    (tmp_path / "a/b/up").symlink_to("..")
    (tmp_path / "a/b/top").symlink_to(tmp_path)
    (tmp_path / "self").symlink_to("self")
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    (tmp_path / "gone").symlink_to("nowhere")
    entries = found(tmp_path)
    assert "a/b/c.py" in entries
    assert entries["a/b/up/"].link == "a" and entries["a/b/top/"].link == "./"
    for name in ("self", "one", "two", "gone"):
        assert entries[name].error, name


def test_what_is_no_file(tmp_path):
    fill(tmp_path, "a.py")
    os.mkfifo(tmp_path / "pipe")
    assert "pipe" in found(tmp_path)["pipe"].error


def test_names_that_are_not_utf8(tmp_path):
    name = b"caf\xe9.py"
    with open(os.path.join(os.fsencode(tmp_path), name), "wb") as file:
        file.write(b"x = 1\n")
    (entry,) = walk(tmp_path)
    assert os.fsencode(entry.path) == name


def test_a_name_with_a_line_break(tmp_path):
    fill(tmp_path, "a\nb.py")
    (tmp_path / ".gitignore").write_text("*.log\n")
    assert not found(tmp_path)["a\nb.py"].ignored


def test_a_folder_that_may_not_be_listed_is_an_entry(tmp_path, monkeypatch):
    fill(tmp_path, "closed/a.py", "open/b.py")
    plain = os.scandir

    def guarded(path):
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied")
        return plain(path)

    monkeypatch.setattr(walking.os, "scandir", guarded)
    entries = found(tmp_path)
    assert entries["closed/"].error == "permission denied"
    assert "open/b.py" in entries


def test_a_folder_that_vanishes_is_an_entry(tmp_path):
    fill(tmp_path, "a.py", "gone/b.py")
    steps = walk(tmp_path)
    assert next(steps).path == "a.py"
    (tmp_path / "gone/b.py").unlink()
    (tmp_path / "gone").rmdir()
    (entry,) = steps
    assert entry.path == "gone/" and "no such file" in entry.error


def test_a_file_whose_status_cannot_be_asked(tmp_path, monkeypatch):
    fill(tmp_path, "a.py", "b.py")

    class Vanishing:
        def __init__(self, item):
            self.name, self.path = item.name, item.path
            self.is_symlink, self.is_dir = item.is_symlink, item.is_dir

        def stat(self, **options):
            raise FileNotFoundError(2, "No such file or directory")

    plain = os.scandir

    class Listing:
        def __init__(self, path):
            self.plain = plain(path)

        def __enter__(self):
            return (Vanishing(item) if item.name == "a.py" else item for item in self.plain)

        def __exit__(self, *details):
            self.plain.close()

    monkeypatch.setattr(walking.os, "scandir", Listing)
    entries = found(tmp_path)
    assert entries["a.py"].error and not entries["b.py"].error


def test_an_ignore_file_that_is_a_folder_or_a_link(tmp_path):
    fill(tmp_path, "a/.gitignore/x", "a/b.py", "rules", "c.py", text="*.py\n")
    (tmp_path / ".gitignore").symlink_to("rules")  # git does not follow it either
    assert not found(tmp_path)["a/b.py"].ignored and not found(tmp_path)["c.py"].ignored


def test_progress_counts_to_the_end(tmp_path):
    fill(tmp_path, *(f"f{i}.py" for i in range(1200)))
    seen = []
    assert len(list(walk(tmp_path, seen.append))) == 1200
    assert seen == sorted(seen) and seen[-1] == 1200 and len(seen) >= 3


def test_a_hundred_thousand_names_in_one_folder(tmp_path, monkeypatch, capsys):
    """Not timed here (tests/benchmarks does that), but printed; what matters is that nothing grows with the square."""
    (tmp_path / ".gitignore").write_text("*.pyc\n*.log\nbuild/\n/dist/\n**/temp/*.txt\n*~\n.cache\nfoo*.bak\n")
    for i in range(100_000):
        os.close(os.open(f"{tmp_path}/module_{i}.py", os.O_CREAT | os.O_WRONLY))
    began = time.perf_counter()
    entries = list(walk(tmp_path))
    with capsys.disabled():
        print(f"\nwalk: 100,000 names in one folder in {time.perf_counter() - began:.2f} s")
    assert len(entries) == 100_001 and not any(entry.ignored for entry in entries)


def test_a_deep_tree(tmp_path):
    folder = tmp_path
    for _ in range(400):
        folder = folder / "d"
    folder.mkdir(parents=True)
    (folder / "a.py").write_text("x")
    assert [entry.path for entry in walk(tmp_path)] == ["d/" * 400 + "a.py"]


def test_some_paths_give_what_the_walk_gives(tmp_path):
    fill(tmp_path, "a.py", "src/b.py", "src/deep/c.py", "build/d.py", "src/e.log", ".git/x")
    (tmp_path / ".gitignore").write_text("build/\n")
    (tmp_path / "src/.gitignore").write_text("*.log\n")
    (tmp_path / "link").symlink_to("src")
    whole = found(tmp_path)
    for path in ("a.py", "src/b.py", "src/deep/c.py", "src/e.log", "link"):
        for entry in walk_some(tmp_path, [path]):
            assert whole[entry.path] == entry
    assert [entry.path for entry in walk_some(tmp_path, ["src"])] == [path for path in whole if path.startswith("src/")]
    assert [entry.path for entry in walk_some(tmp_path, ["build/d.py", "build/x.py", "build"])] == ["build/"]
    assert list(walk_some(tmp_path, ["gone.py", "gone/a.py", ".git/x", ".git", "a.py/b", "../x", "src/../../x"])) == []
    assert [entry.path for entry in walk_some(tmp_path, ["link"])] == ["link/"]
    assert {entry.path for entry in walk_some(tmp_path, [""])} == set(whole)
