"""The sample project is copied beside the window, reading resumes after a cancel, and edits are remembered."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from app.values.completion import EditedFile
from app.workers import sample
from app.workers.recent_edits import edited_files
from app.workers.sample import place_sample, sample_folder


@pytest.fixture
def packaged(monkeypatch, tmp_path):
    """A sample project of two files."""
    source = tmp_path / "resources" / sample.NAME
    (source / "lib").mkdir(parents=True)
    (source / "tide.py").write_text("def level(moon):\n    return moon * 3\n" * 20)
    (source / "lib" / "wave.py").write_text("def wave(wind):\n    return wind - 1\n" * 20)
    monkeypatch.setattr(sample, "packaged_sample", lambda: source)
    return source


def test_the_sample_is_copied_read_and_left_as_the_user_has_it(program, packaged, folder):
    one = program()
    told = []
    one.state.repository.progressed.connect(lambda *what: told.append(what))
    one.state.repository.open_sample()
    one.until(lambda: one.state.repository.phase == "ready")
    copy = sample_folder(folder)
    assert (copy / "lib" / "wave.py").read_text() == (packaged / "lib" / "wave.py").read_text()
    assert (0, 2, "Copying the sample project") in told and (1, 2, "Copying the sample project") in told
    (copy / "tide.py").write_text("mine\n")
    assert place_sample(folder, lambda *_: None) == copy
    assert (copy / "tide.py").read_text() == "mine\n"
    assert [path.name for path in copy.parent.iterdir()] == ["tidewater"]


def test_a_sample_that_cannot_be_copied_is_told_in_words(program, packaged, folder):
    (folder / "sample").write_text("in the way")
    one = program()
    one.state.repository.open_sample()
    one.until(lambda: one.state.repository.phase == "failed")
    assert str(folder) in one.failures[0].cause and one.failures[0].remedy


def test_a_copy_that_is_ended_leaves_nothing(packaged, folder):
    def end(done: int, total: int, what: str) -> None:
        if done:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        place_sample(folder, end)
    assert list((folder / "sample").iterdir()) == []


def test_after_a_cancel_the_folder_can_be_read(program, repository):
    one = program()
    controller = one.state.repository
    one.open(repository)
    controller.close()  # which ends whatever is being read
    one.open(repository)
    assert controller.phase == "ready" and controller.corpus.totals.all.files == 10


# ---- edits


def verdict(learn: bool):
    return SimpleNamespace(learn=learn)


def test_only_what_is_learned_and_holds_no_secret_is_looked_at(tmp_path):
    for name in ("a.py", "b.py", "left.py", "key.py"):
        (tmp_path / name).write_text(f"# {name}\n")
    corpus = SimpleNamespace(
        root=tmp_path,
        by_path={"a.py": verdict(True), "left.py": verdict(False), "key.py": verdict(True), "gone.py": verdict(True)},
        secrets=(SimpleNamespace(path="key.py"),),
    )
    paths = [str(tmp_path / name) for name in ("a.py", "b.py", "left.py", "key.py", "gone.py")] + ["/elsewhere/x.py"]
    found = {file.path: file.text for file in edited_files(corpus, paths)}
    assert found == {"a.py": "# a.py\n", "b.py": None, "left.py": None, "key.py": None, "gone.py": None}
    assert "# a.py" not in repr(EditedFile("a.py", "# a.py"))


def test_an_edit_reaches_the_prompt_unless_it_is_switched_off(program, repository, tiny, monkeypatch):
    from engine.generate.completer import Completer

    asked, plain = [], Completer.stream

    def stream(self, request, *more):
        asked.append([chunk.path for chunk in request.context])
        return plain(self, request, *more)

    monkeypatch.setattr(Completer, "stream", stream)
    one = program()
    one.open(repository)
    one.until(lambda: one.state.repository.watcher == "watching")
    noted = []
    one.state._repository_worker.edited.connect(noted.append)
    (repository / "shelf_3.py").write_text(
        (repository / "shelf_3.py").read_text() + "\n\ndef late_change():\n    pass\n"
    )
    one.until(lambda: noted)
    completion = one.state.completion
    completion.choose_model(tiny)

    def ask() -> list[str]:
        count = len(asked)
        completion.request("class Shelf:\n    def put(self, name, count):\n        self.boxes\n", "", "new.py")
        one.until(lambda: len(asked) > count and not completion.busy)
        return asked[-1]

    assert set(ask()) == {"shelf_3.py"}
    one.state.settings.completion_context = False
    assert ask() == []
    one.state.settings.completion_context = True
    one.state.repository.close()
    one.until(lambda: noted[-1] is None)
    assert ask() == []
