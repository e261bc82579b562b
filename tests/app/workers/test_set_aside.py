"""Several folders in one program: going back does not wait, and what is kept about one is never taken for another's."""

from __future__ import annotations

import pytest

from app.values.memory import READY
from app.workers.set_aside import MOST_FOLDERS, OpenFolder, SetAside
from tests.app.state.program import write_repository


@pytest.fixture
def other(tmp_path):
    return write_repository(tmp_path / "boxes", 4)


@pytest.fixture
def one(program, with_starter, repository, other):
    """A program that has read `repository`, then `other`, which is open."""
    made = program()
    for root in (repository, other):
        made.open(root)
        made.until(lambda: is_remembered(made))
    return made


def is_remembered(one) -> bool:
    view = one.state.memory.view
    return view is not None and view.state == READY


def held(monkeypatch):
    """What a scan of the engine shows while it has not ended: the scans begin when this is called."""
    from engine.corpus.repository import Repository

    scans, plain = [], Repository.scan

    def scan(self, *arguments):
        scans.append(self.root)
        return plain(self, *arguments)

    monkeypatch.setattr(Repository, "scan", scan)
    return scans


def test_the_folder_left_last_is_there_before_it_is_checked(one, repository, monkeypatch):
    seen, scans = [], held(monkeypatch)
    one.state._repository_worker.corpus_read.connect(lambda view, final: seen.append((view.root, final, len(scans))))
    one.open(repository)
    one.until(lambda: len(seen) == 2)
    root = str(repository)
    assert seen == [(root, True, 0), (root, True, 1)] and scans == [repository]
    assert len(one.state.repository.corpus.files) == 10 and one.state.repository.phase == "ready"


def test_its_memory_is_there_too_and_not_built_again(one, repository, monkeypatch):
    from engine.memory import RepositoryMemory

    monkeypatch.setattr(RepositoryMemory, "merge", lambda *_: pytest.fail("built again"))
    one.open(repository)
    one.until(lambda: is_remembered(one) and one.state.memory.view.files == 10)
    assert one.failures == []


def test_what_changed_meanwhile_is_seen(one, repository):
    (repository / "new.py").write_text("def came_later(box):\n    return box.width\n" * 20)
    (repository / "shelf_1.py").unlink()
    one.open(repository)
    names = {f"shelf_{n}.py" for n in range(10)} - {"shelf_1.py"} | {"new.py"}
    one.until(lambda: {row.path for row in one.state.repository.corpus.files} == names)
    one.until(lambda: one.state.memory.view.files == 10)
    (repository / "later.py").write_text("def came_last(box):\n    return box.height\n" * 20)  # it is watched again
    one.until(lambda: "later.py" in {row.path for row in one.state.repository.corpus.files})


def test_secrets_are_treated_as_set_now(one, repository):
    (repository / "keys.py").write_text('def key():\n    return "' + "AKIA" + 'Q3ZL7VN2XW8TJ5RM"\n')
    one.open(repository)
    one.until(lambda: any(row.path == "keys.py" and row.learn for row in one.state.repository.corpus.files))
    one.state.repository.close()
    one.state.settings.secret_policy = "leave_out"
    one.open(repository)
    assert [row.learn for row in one.state.repository.corpus.files if row.path == "keys.py"] == [False]


def test_deleting_what_is_kept_about_a_closed_folder_leaves_the_open_one(one, repository, other, folder):
    deleted = []
    one.state.repository.kept_deleted.connect(lambda: deleted.append(True))
    one.state.repository.delete_kept(str(repository))
    one.until(lambda: deleted)
    assert len(list((folder / "repositories").iterdir())) == 1
    assert one.state.repository.root == str(other) and is_remembered(one) and one.failures == []
    assert str(repository) not in one.state.repository.recent
    one.open(repository)
    one.until(lambda: is_remembered(one) and one.state.memory.view.files == 10)
    assert len(list((folder / "repositories").iterdir())) == 2


def test_a_folder_that_went_away_is_not_shown_as_it_was(one, repository):
    import shutil

    shutil.rmtree(repository)
    one.open(repository)
    assert one.state.repository.phase == "gone" and one.state.repository.corpus is None
    assert one.state.memory.view is None


def test_only_so_many_are_kept(tmp_path):
    aside, folder = SetAside(), OpenFolder(None, None, None, None)
    for number in range(MOST_FOLDERS + 1):
        aside.put(tmp_path / str(number), folder)
    assert aside.take(tmp_path / "0") is None
    assert aside.take(tmp_path / "1") is folder and aside.take(tmp_path / "1") is None


def test_a_run_that_ends_after_its_folder_was_left_belongs_to_it(one, repository, other):
    one.open(repository)
    one.small_options(steps=100_000)
    one.state.training.start()
    one.until(lambda: one.state.training.step > 1)
    one.open(other)
    before = one.state.completion.model
    one.state.training.stop()
    one.until(lambda: one.state.training.phase == "finished" and one.state.checkpoints.rows)
    made = one.state.training.finished.checkpoint
    one.until(lambda: one.state.completion.choice(made) is not None)
    assert one.state.completion.choice(made).folder == str(repository)
    one.state.training.use()
    assert one.state.completion.model == before and one.state.completion.model_in(str(repository)) == made
    assert one.state.repository.changes.checkpoint == ""  # of the folder that is open
    one.open(repository)
    assert one.state.completion.model == made
    one.until(lambda: one.state.repository.changes.checkpoint == made)
    one.open(other)
    one.state.training.go_back()
    assert one.state.completion.model_in(str(repository)) == before
