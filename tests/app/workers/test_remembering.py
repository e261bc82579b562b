"""The memory of the repository: read with it, kept up to date, asked by every model, and deleted with what is kept."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from PySide6.QtCore import QObject

from app.data.settings_file import USUAL_LEAST_CHANCE
from app.values.completion import IN_TRAINING, MODEL, MODEL_MEMORY, STARTER
from app.values.memory import READING, READY
from app.workers import remembering
from app.workers.cancellation import Flag
from app.workers.remembering import Remembering, delete_kept
from engine.memory import RepositoryMemory

NEW = "def unmistakable_harbour(tide_table):\n    return tide_table.quartermaster_level()\n"
SECRET = "AKIA" + "Q3ZL7VN2XW8TJ5RM"


@pytest.fixture
def one(program, with_starter, repository):
    """A program that has read the repository into its memory."""
    made = program()
    made.open(repository)
    made.until(lambda: is_ready(made))
    return made


def is_ready(one) -> bool:
    view = one.state.memory.view
    return view is not None and view.state == READY


def open_device(one):
    return one.state._completion_worker._open_device


def text_of(snapshot) -> str:
    """All that counts in it."""
    return "\n".join(
        snapshot.tokenizer.decode(segment.tokens[entry.start : entry.start + entry.count])
        for segment in snapshot.segments
        for entry in snapshot.entries
        if entry in segment.entries
    )


def ask(one, prefix: str, **named):
    answers = []
    one.state.completion.completed.connect(lambda _ticket, view: answers.append(view))
    one.state.completion.request(prefix, **named)
    one.until(lambda: answers)
    return answers[-1]


def requests(one, monkeypatch) -> list:
    """Every request that a completer is asked from now on."""
    from engine.generate.completer import Completer

    asked, plain = [], Completer.stream

    def stream(self, request, *more):
        asked.append((request, self.memory))
        return plain(self, request, *more)

    monkeypatch.setattr(Completer, "stream", stream)
    return asked


def test_the_repository_is_remembered_and_forgotten(one, folder):
    view = one.state.memory.view
    assert view.files == 10 and view.tokens > 1000 and view.bytes > 0
    one.until(lambda: open_device(one).remembered is not None)
    assert open_device(one).remembered.tokens == view.tokens
    assert list(folder.glob("repositories/*/memory/*/memory.json"))
    one.state.repository.close()
    one.until(lambda: one.state.memory.view is None and open_device(one).remembered is None)


def test_another_repository_has_another_memory(one, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "harbour.py").write_text(NEW * 20)
    one.open(other)
    one.until(lambda: is_ready(one) and one.state.memory.view.files == 1)
    one.until(lambda: open_device(one).remembered is not None)
    one.until(lambda: {entry.path for entry in open_device(one).remembered.entries} == {"harbour.py"})


def test_an_edit_is_known_at_once_and_named_as_source(one, repository):
    one.state.completion.set_stops("end_of_block", False)
    (repository / "harbour.py").write_text(NEW)
    one.until(lambda: one.state.memory.view.files == 11)
    one.until(lambda: "quartermaster" in text_of(open_device(one).remembered))
    prefix = "def unmistakable_harbour(tide_table):\n    return tide_"
    answer = ask(one, prefix, path="new.py", channel=MODEL_MEMORY)
    assert answer.text == "table.quartermaster_level()" and answer.from_memory and answer.chance is not None
    assert [(source.path, source.line) for source in answer.sources] == [("harbour.py", 2)]
    alone = ask(one, prefix, path="new.py", channel=MODEL)
    assert alone.sources == () and not alone.from_memory


def test_a_masked_secret_is_in_no_memory(one, repository, folder):
    (repository / "keys.py").write_text(f'def harbour_keys():\n    return "{SECRET}"\n' + NEW)
    one.until(lambda: one.state.memory.view.files == 11)
    one.until(lambda: "harbour_keys" in text_of(open_device(one).remembered))
    assert SECRET not in text_of(open_device(one).remembered)
    kept = b"".join(path.read_bytes() for path in folder.glob("repositories/*/memory/*/*.names"))
    assert kept and SECRET.encode() not in kept


def test_what_the_user_leaves_out_does_not_stay_on_disk(program, with_starter, repository, folder, monkeypatch):
    monkeypatch.setattr(remembering, "QUIET", 50)
    (repository / "harbour.py").write_text(NEW)
    one = program()
    one.open(repository)
    one.until(lambda: is_ready(one) and one.state.memory.view.files == 11)

    def kept() -> bytes:
        return b"".join(path.read_bytes() for path in folder.glob("repositories/*/memory/*/*.names"))

    assert b"quartermaster_level" in kept()
    one.state.repository.override("harbour.py", False)
    one.until(lambda: kept() and b"quartermaster_level" not in kept())
    assert one.state.memory.view.files == 10


def test_the_switch_and_sampling_go_with_the_request(one, monkeypatch):
    asked = requests(one, monkeypatch)
    ask(one, "def step_1_")
    request, memory = asked[-1]
    assert request.memory and memory is open_device(one).remembered
    assert request.offer.least_chance == USUAL_LEAST_CHANCE and request.offer.alternatives == 3
    one.state.memory.switch(False)
    ask(one, "def step_1_")
    assert asked[-1][0].memory is False
    one.state.memory.switch(True)
    one.state.completion.set_sampling("temperature", 0.5)
    ask(one, "def step_1_")
    assert asked[-1][0].memory and asked[-1][0].offer is None


def test_what_was_streamed_names_its_source_too(one):
    one.state.completion.set_sampling("temperature", 0.01)
    one.state.completion.set_stops("max_tokens", 40)
    answer = ask(one, "class Shelf99:\n    def __init__(self, width: int = 99) -> None:\n        self.", path="new.py")
    assert answer.chance is None and answer.text.startswith("width = width")
    assert answer.from_memory and answer.sources[0].path.startswith("shelf_") and answer.more_sources > 0


def test_a_model_in_training_has_the_same_memory(one, monkeypatch):
    one.small_options(STARTER, steps=100_000)
    one.state.training.start()
    one.until(lambda: one.state.training.step > 1)
    asked = requests(one, monkeypatch)
    known = open_device(one).remembered
    ask(one, "def step_1_", model=IN_TRAINING)
    assert asked[-1][1] is known is open_device(one).remembered is not None
    one.state.training.stop()
    one.until(lambda: not one.state.training.active)


def test_a_model_with_another_tokenizer_goes_without(one, folder, tmp_path, monkeypatch):
    from tests.app.state.program import make_tiny_base

    words = tmp_path / "words"
    words.mkdir()
    (words / "prose.py").write_text("# The quick brown fox jumps over the lazy dog, again and again.\n" * 30)
    other = make_tiny_base(folder, words)
    asked = requests(one, monkeypatch)
    ask(one, "def step_1_", model=other)
    assert asked[-1][1] is None
    ask(one, "def step_1_")
    assert asked[-1][1] is open_device(one).remembered


def test_deleting_what_is_kept_takes_the_memory_with_it(one, repository, folder):
    (kept,) = (folder / "repositories").iterdir()
    assert (kept / "memory").is_dir() and (kept / "split.json").is_file()
    one.state.repository.delete_kept()
    one.until(lambda: not kept.exists() and one.state.memory.view is None)
    assert one.state.repository.phase == "none" and str(repository) not in one.state.repository.recent
    assert (repository / "shelf_1.py").is_file() and one.failures == []
    one.open(repository)
    one.until(lambda: is_ready(one))
    assert (kept / "memory").is_dir()


def test_deleting_what_is_not_there_is_no_error(tmp_path):
    delete_kept(tmp_path / "none")


def test_what_cannot_be_deleted_is_told(one, repository, monkeypatch):
    def refuse(_folder):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("app.workers.repository.delete_kept", refuse)
    one.state.repository.delete_kept()
    one.until(lambda: one.failures)
    assert "could not be deleted" in one.failures[0].cause and "Permission denied" in one.failures[0].cause


# ---- without the program


class Notes(QObject):
    def __init__(self, tmp_path) -> None:
        super().__init__()
        self.flag = Flag(self)
        self.one = Remembering(self.flag, self)
        self.snapshots, self.views, self.failures = [], [], []
        self.one.remembered.connect(self.snapshots.append)
        self.one.described.connect(self.views.append)
        self.one.failed.connect(self.failures.append)


@pytest.fixture
def notes(qapp, tmp_path, monkeypatch):
    monkeypatch.setattr(remembering, "QUIET", 20)
    return Notes(tmp_path)


@pytest.fixture
def corpus(repository, tmp_path):
    from engine.corpus.repository import Repository
    from engine.corpus.tokens.tokenizer import Tokenizer

    tokenizer = Tokenizer.train([path.read_text() for path in sorted(repository.glob("*.py"))], 400)
    return Repository(repository, tmp_path / "data", tokenizer).scan()


def test_a_cancelled_build_is_begun_again(notes, corpus, tmp_path, qtbot):
    notes.flag.cancel()
    notes.one.take_in(tmp_path / "kept", corpus)
    assert notes.snapshots == [] and [view.state for view in notes.views] == [READING]
    qtbot.waitUntil(lambda: len(notes.snapshots) == 1)
    assert notes.views[-1].state == READY and notes.views[-1].files == 10


def test_much_change_is_merged_after_a_quiet_moment(notes, corpus, tmp_path, qtbot, monkeypatch):
    notes.one.take_in(tmp_path / "kept", corpus)
    monkeypatch.setattr(RepositoryMemory, "needs_merge", property(lambda self: True))
    notes.one.take_in(tmp_path / "kept", corpus)
    assert len(notes.snapshots) == 2
    qtbot.waitUntil(lambda: len(notes.snapshots) == 3)
    assert len(notes.snapshots[-1].segments) == 1 and np.sum(notes.snapshots[-1].dead[0]) == 0
    notes.one.forget()
    assert notes.snapshots[-1] is None and notes.views[-1] is None


def test_a_failure_is_told_once(notes, corpus, tmp_path, monkeypatch):
    def full(self, corpus, cancelled=None):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(RepositoryMemory, "update", full)
    notes.one.take_in(tmp_path / "kept", corpus)
    notes.one.take_in(tmp_path / "kept", corpus)
    assert len(notes.failures) == 1 and notes.snapshots == []


def test_a_list_without_tokens_is_not_remembered(notes, tmp_path):
    notes.one.take_in(tmp_path / "kept", SimpleNamespace(has_tokens=False))
    assert notes.views == [] and notes.snapshots == []
