"""Changes of files: gathered until it is quiet, never for long, and many of them as one."""

from __future__ import annotations

import ctypes
import errno
import shutil
import sys
import threading

import pytest

from app.workers.repository import RepositoryWorker
from app.workers.watching import LONGEST, MOST_NAMED, QUIET, FolderWatch, Gathering
from tests.app.state.program import write_repository


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


def test_changes_wait_until_it_is_quiet(clock):
    gathering = Gathering(clock)
    assert gathering.due_in() is None
    assert gathering.add("a") and not gathering.add("b")
    clock.now += QUIET / 2
    gathering.add("a")
    assert gathering.due_in() == pytest.approx(QUIET)
    clock.now += QUIET
    assert gathering.due_in() == 0
    assert gathering.take().paths == {"a", "b"} and gathering.due_in() is None
    assert gathering.add("c")  # the first of a new while


def test_they_do_not_wait_for_ever(clock):
    gathering = Gathering(clock)
    gathering.add("a")
    for _ in range(100):
        clock.now += QUIET / 2
        gathering.add("a")
        if gathering.due_in() == 0:
            break
    assert clock.now == pytest.approx(100 + LONGEST, abs=QUIET)


def test_too_many_to_name_are_told_as_many(clock):
    gathering = Gathering(clock)
    for n in range(MOST_NAMED + 50):
        gathering.add(f"{n}")
    taken = gathering.take()
    assert taken.many and not taken.paths
    gathering.add("a")
    assert not gathering.take().many


def watched(root):
    woken = threading.Event()
    watch = FolderWatch(root, woken.set)
    assert watch.start() == ""
    return watch, woken


def test_edits_are_noticed_and_version_control_is_not(tmp_path):
    (tmp_path / ".git").mkdir()
    watch, woken = watched(tmp_path)
    try:
        (tmp_path / ".git" / "index").write_text("x")
        (tmp_path / "deep").mkdir()
        (tmp_path / "deep" / "a.py").write_text("x = 1\n")
        assert woken.wait(10)
        wanted = {str(tmp_path / "deep"), str(tmp_path / "deep" / "a.py")}
        found: set[str] = set()
        for _ in range(200):
            found |= watch.gathering.take().paths
            if wanted <= found:
                break
            threading.Event().wait(0.02)
        assert wanted <= found and not any(".git" in path for path in found)
    finally:
        watch.stop()


def test_reading_a_file_is_no_change(tmp_path):
    (tmp_path / "a.py").write_text("x = 1\n")
    watch, woken = watched(tmp_path)
    try:
        (tmp_path / "a.py").read_text()
        assert not woken.wait(0.3)
    finally:
        watch.stop()


def test_a_system_that_cannot_watch_says_why(tmp_path, monkeypatch):
    from watchdog.observers.api import EventEmitter

    def refuse(self):
        raise OSError(28, "inotify watch limit reached")

    monkeypatch.setattr(EventEmitter, "start", refuse)
    watch = FolderWatch(tmp_path, lambda: None)
    assert watch.start() == "the system cannot watch the folder (inotify watch limit reached)"
    watch.stop()


@pytest.fixture
def few_watches(monkeypatch):
    """Let the system have so many watches and no more; gives how they are set."""
    if not sys.platform.startswith("linux"):
        pytest.skip("only Linux counts watches")
    from watchdog.observers import inotify_c

    plain, left = inotify_c.inotify_add_watch, [1_000_000]

    def add(*arguments):
        if left[0] <= 0:
            ctypes.set_errno(errno.ENOSPC)
            return -1
        left[0] -= 1
        return plain(*arguments)

    monkeypatch.setattr(inotify_c, "inotify_add_watch", add)
    return lambda count: left.__setitem__(0, count)


def test_subfolders_that_get_no_watch_are_told(tmp_path, few_watches):
    for n in range(20):
        (tmp_path / f"folder_{n}").mkdir()
    few_watches(4)
    watch = FolderWatch(tmp_path, lambda: None)
    try:
        assert watch.start() == "the system cannot watch the folder (inotify watch limit reached)"
    finally:
        watch.stop()


def test_a_folder_that_comes_later_and_gets_no_watch_is_told(tmp_path, few_watches):
    watch, woken = watched(tmp_path)
    try:
        (tmp_path / "first").mkdir()
        assert woken.wait(10) and watch.gap() == ""
        few_watches(0)
        watch.gathering.take()
        woken.clear()
        (tmp_path / "first" / "second").mkdir()
        assert woken.wait(10) and "watch limit reached" in watch.gap()
    finally:
        watch.stop()


def test_asking_for_one_more_watch_is_no_change(tmp_path, monkeypatch):
    """The folder for temporary files may be inside the one that is watched."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    watch, woken = watched(tmp_path)
    try:
        watch._folders_came = True
        assert watch.gap() == "" and not woken.wait(0.3)
    finally:
        watch.stop()


# ---- the repository as the program sees it


def test_it_looks_instead_once_watches_run_out(program, repository, few_watches, monkeypatch):
    monkeypatch.setattr("app.workers.repository.LOOK_EVERY", 0.05)
    monkeypatch.setattr("app.workers.repository.LOOK_SHARE", 0)
    one = program()
    controller = one.state.repository
    one.open(repository)
    one.until(lambda: controller.watcher == "watching")
    few_watches(0)
    deep = repository / "one" / "two"
    deep.mkdir(parents=True)
    one.until(lambda: controller.watcher == "looking")
    (deep / "new.py").write_text("def new():\n    return 1\n")
    one.until(lambda: any(row.path == "one/two/new.py" for row in controller.corpus.files))


def will_read(worker) -> bool:
    """Whether a timer will make it read again without being asked."""
    return worker._look.isActive() or worker._due.isActive()


def unwatchable(monkeypatch, reading) -> list[int]:
    """Nothing can be watched, and the first reading is `reading(worker)`; gives a list that grows with each."""

    begun = []

    def counted(worker):
        begun.append(1)
        return reading(worker)

    monkeypatch.setattr("app.workers.repository.FolderWatch.start", lambda self: "the system cannot watch")
    monkeypatch.setattr("app.workers.repository.LOOK_EVERY", 0.02)
    monkeypatch.setattr("app.workers.repository.LOOK_SHARE", 0)
    monkeypatch.setattr(RepositoryWorker, "_first_reading", counted)
    return begun


def test_a_reading_that_was_stopped_is_not_begun_again_by_itself(program, repository, monkeypatch):
    from engine.corpus.reading.scan_progress import ScanCancelledError

    plain, stopped = RepositoryWorker._first_reading, threading.Event()

    def reading(worker):
        if stopped.is_set():
            return plain(worker)
        while not worker._flag.is_raised():
            threading.Event().wait(0.01)
        stopped.set()
        raise ScanCancelledError

    begun = unwatchable(monkeypatch, reading)
    one = program()
    controller = one.state.repository
    controller.open(repository)
    one.until(lambda: begun)
    controller.cancel()
    one.until(lambda: controller.phase == "failed" and controller.watcher == "looking")
    assert not one.ask_worker(RepositoryWorker, will_read) and len(begun) == 1
    controller.rescan()
    one.until(lambda: controller.phase == "ready")
    (repository / "new.py").write_text("def new():\n    return 1\n")
    one.until(lambda: any(row.path == "new.py" for row in controller.corpus.files))


def test_a_reading_that_fails_is_told_once(program, repository, monkeypatch):
    def reading(worker):
        raise PermissionError(13, "no")

    begun = unwatchable(monkeypatch, reading)
    one = program()
    one.open(repository)
    one.until(lambda: one.state.repository.watcher == "looking")
    assert not one.ask_worker(RepositoryWorker, will_read)
    assert len(begun) == len(one.failures) == 1


def test_two_thousand_files_at_once_are_one_update(program, repository):
    one = program()
    controller = one.state.repository
    one.open(repository)
    read = []
    controller.changed.connect(lambda: read.append(controller.corpus) if controller.phase == "ready" else None)
    for n in range(2000):
        (repository / f"branch_{n}.py").write_text(f"def branch_{n}():\n    return {n} * {n + 1}\n")
    one.until(lambda: controller.corpus.totals.all.files == 2010)
    assert len({id(corpus) for corpus in read}) < 200, "each change was taken in alone"


def test_a_folder_that_is_deleted_and_comes_back(program, repository, tmp_path, monkeypatch):
    monkeypatch.setattr("app.workers.repository.THERE_EVERY", 50)
    one = program()
    controller = one.state.repository
    one.open(repository)
    shutil.move(repository, tmp_path / "away")
    one.until(lambda: controller.phase == "gone")
    assert str(repository) in controller.failure.cause and controller.watcher == "off"
    assert one.state.training.start_problem == "Choose a folder first."
    shutil.move(tmp_path / "away", repository)
    one.until(lambda: controller.phase == "ready" and controller.watcher == "watching")


def test_where_nothing_can_be_watched_it_looks_from_time_to_time(program, repository, monkeypatch):
    monkeypatch.setattr("app.workers.repository.FolderWatch.start", lambda self: "the system cannot watch")
    monkeypatch.setattr("app.workers.repository.LOOK_EVERY", 0.05)
    monkeypatch.setattr("app.workers.repository.LOOK_SHARE", 0)
    one = program()
    controller = one.state.repository
    one.open(repository)
    one.until(lambda: controller.watcher == "looking")
    assert "cannot watch" in controller.watcher_words
    (repository / "new.py").write_text("def new():\n    return 1\n")
    one.until(lambda: any(row.path == "new.py" for row in controller.corpus.files))


def test_watching_can_be_switched_off_and_on(program, repository):
    one = program()
    controller = one.state.repository
    one.state.settings.watch = False
    one.open(repository)
    one.until(lambda: controller.watcher == "off")
    assert one.ask_worker(RepositoryWorker, lambda worker: worker._watch is None and not will_read(worker))
    (repository / "new.py").write_text("def new():\n    return 1\n")
    assert all(row.path != "new.py" for row in controller.corpus.files)
    one.state.settings.watch = True
    one.until(lambda: controller.watcher == "watching")
    one.until(lambda: any(row.path == "new.py" for row in controller.corpus.files))  # without being asked to


def test_choices_are_applied_and_taken_back(program, repository):
    one = program()
    controller = one.state.repository
    one.open(repository)

    def row(path):
        return next(each for each in controller.corpus.files if each.path == path)

    for learn, expected in ((False, (False, "switched_off", True)), (None, (True, "", False))):
        controller.override("shelf_1.py", learn)
        assert controller.phase == "reading"
        one.until(lambda: controller.phase == "ready")
        found = row("shelf_1.py")
        assert (found.learn, found.reason, found.overridden) == expected
    controller.choose_language("python", False)
    one.until(lambda: controller.phase == "ready")
    assert controller.corpus.languages_off == ("python",) and controller.corpus.totals.learned.files == 0


def test_languages_that_are_off_by_default_are_among_those_that_are_off(program, repository):
    (repository / "drawing.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg"/>\n')
    one = program()
    one.open(repository)
    assert one.state.repository.corpus.languages_off == ("svg",)


def test_secrets_are_listed_without_what_they_say(program, repository):
    secret = "AKIA" + "Q3ZL7VN2XW8TJ5RM"
    (repository / "keys.py").write_text(f'def keys():\n    return "{secret}"\n')
    one = program()
    controller = one.state.repository
    one.open(repository)
    (found,) = controller.corpus.secrets
    assert (found.path, found.line, found.masked) == ("keys.py", 2, True) and secret not in repr(controller.corpus)
    controller.set_not_secret(found.fingerprint)
    one.until(lambda: controller.phase == "ready" and not controller.corpus.secrets[0].masked)
    controller.set_secret_policy("leave_out")
    one.until(lambda: controller.phase == "ready")


def test_another_folder_can_be_opened_while_one_is_read(program, repository, tmp_path):
    one = program()
    other = write_repository(tmp_path / "other", 4)
    one.state.repository.open(repository)
    one.state.repository.open(other)
    one.until(lambda: one.state.repository.phase == "ready")
    assert one.state.repository.corpus.root == str(other) and one.state.repository.corpus.totals.all.files == 4
    assert one.failures == []


def test_another_folder_ends_the_reading_of_the_one_before(program, repository, tmp_path, monkeypatch):
    from engine.corpus.reading.scan_progress import ScanCancelledError

    plain, begun, ended = RepositoryWorker._first_reading, threading.Event(), []

    def endless(worker):
        if worker._root != repository:
            return plain(worker)
        begun.set()
        for _ in range(500):
            if worker._flag.is_raised():
                ended.append("by the other")
                raise ScanCancelledError
            threading.Event().wait(0.01)
        return plain(worker)

    monkeypatch.setattr(RepositoryWorker, "_first_reading", endless)
    other = write_repository(tmp_path / "other", 4)
    one = program()
    controller = one.state.repository
    controller.open(repository)
    assert one.state.training.start_problem == "The folder is being read."
    one.until(begun.is_set)
    phases = []
    controller.changed.connect(lambda: phases.append(controller.phase))
    controller.open(other)
    one.until(lambda: controller.phase == "ready")
    assert ended == ["by the other"] and controller.corpus.root == str(other)
    assert "failed" not in phases and one.failures == []


def test_a_folder_that_is_not_there(program, tmp_path):
    one = program()
    one.open(tmp_path / "nowhere")
    assert one.state.repository.phase == "gone"
    one.state.repository.close()
    assert one.state.repository.phase == "none"
