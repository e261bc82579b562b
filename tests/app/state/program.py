"""The program without a window, on the real engine, a tiny base and a small repository; and words for waiting."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from app.state.application import Application

PATIENCE = 600_000  # milliseconds: a busy machine may have to compile the kernels first
SOURCE = '''"""Module {n}: shelves, boxes and what is in them."""


class Shelf{n}:
    """Holds boxes by name."""

    def __init__(self, width: int = {n}) -> None:
        self.width = width
        self.boxes: dict[str, int] = {{}}

    def put(self, name: str, count: int) -> int:
        """Put some more of `name` on the shelf."""
        self.boxes[name] = self.boxes.get(name, 0) + count * {n}
        return self.boxes[name]

    def total_{n}(self) -> int:
        return sum(self.boxes.values()) + self.width
'''


def write_repository(root: Path, files: int = 10) -> Path:
    """A few files of code that resemble each other less than duplicates would."""
    root.mkdir(parents=True, exist_ok=True)
    for n in range(files):
        extra = "".join(
            f"def step_{n}_{i}(value_{i}):\n    return value_{i} * {i + n} - {n}\n\n\n" for i in range(12 + n)
        )
        (root / f"shelf_{n}.py").write_text(SOURCE.format(n=n) + "\n\n" + extra, encoding="utf-8")
    return root


def make_tiny_base(data_folder: Path, tokenizer_from: Path, name: str = "tiny") -> str:
    """A checkpoint of a very small model whose tokenizer was trained on the repository; gives its id."""
    from engine.checkpoints.store.store import CheckpointStore, Facts
    from engine.corpus.tokens.tokenizer import Tokenizer
    from engine.model.config import ModelConfig
    from engine.model.initialise import initial_parameters

    texts = [path.read_text(encoding="utf-8") for path in sorted(tokenizer_from.glob("*.py"))]
    tokenizer = Tokenizer.train(texts, 400)
    path = data_folder / "tiny.tokenizer.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    tokenizer.save(path)
    config = ModelConfig.from_hugging_face(
        {"hidden_size": 16, "num_hidden_layers": 2, "vocab_size": tokenizer.vocab_size, "state_size": 4}
    )
    store = CheckpointStore(data_folder / "checkpoints")
    parameters = dict(initial_parameters(config, 0))
    saved = store.save(Facts(name=name, mode="base"), config=config, parameters=parameters, tokenizer=path)
    path.unlink()
    return saved.id


class Program:
    """An application with its failures gathered, and ways to wait for it."""

    def __init__(self, folder: Path, qtbot) -> None:
        self.qtbot = qtbot
        self.state = Application(folder)
        self.failures: list = []
        for signal in (
            self.state.engine.failed,
            self.state.repository.failed,
            self.state.training.failed,
            self.state.checkpoints.failed,
            self.state.jobs.failed,
        ):
            signal.connect(self.failures.append)

    def start(self) -> Program:
        self.state.settings.device = "cpu"
        self.state.start()
        self.until(lambda: self.state.engine.found is not None and self.state.checkpoints.listed)
        return self

    def until(self, reached) -> None:
        self.qtbot.waitUntil(lambda: bool(reached()), timeout=PATIENCE)

    def ask_worker(self, worker: type, question):
        """What `question(worker)` gives in the worker's own thread, once it has done all it was asked for before."""
        answers = []

        def work(one):
            return question(one)

        work.__qualname__ = f"{worker.__name__}.question"
        self.state.jobs.ask(work, then=answers.append)
        self.until(lambda: answers)
        return answers[0]

    def press(self, control) -> None:
        """A button or an action, as soon as it can be pressed; pressing a disabled one would do nothing at all."""
        self.until(control.isEnabled)
        (control.click if hasattr(control, "click") else control.trigger)()

    def open(self, root: Path) -> None:
        self.state.repository.open(root)
        self.until(lambda: self.state.repository.phase not in ("none", "reading"))

    def small_options(self, base: str = "", **more) -> None:
        """Options of a run that takes a moment."""
        training = self.state.training
        training.choose_base(base)
        options = {"steps": 8, "batch_size": 2, "sequence_length": 32, "warm_up": 1, "evaluations": 2, "mode": "full"}
        for name, value in (options | more).items():
            assert training.set_option(name, value) == ""

    def run_to_end(self) -> None:
        self.state.training.start()
        self.until(lambda: not self.state.training.active)


@pytest.fixture
def no_starter(monkeypatch, tmp_path):
    """As if the program had come without a model: what a test sees is what it put there."""
    monkeypatch.setattr("engine.model.starter.starter_place", lambda: tmp_path / "starter")


@pytest.fixture
def with_starter(no_starter, tmp_path, repository):
    """A tiny model in place of the built-in one."""
    import engine
    from engine.corpus.tokens.tokenizer import Tokenizer

    tokenizer = Tokenizer.train([path.read_text() for path in sorted(repository.glob("*.py"))], 400)
    config = {"hidden_size": 16, "num_hidden_layers": 2, "vocab_size": tokenizer.vocab_size, "state_size": 4}
    model = engine.create_model(config, device="cpu")
    try:
        model.save(tmp_path / "starter")
    finally:
        model.close()
    tokenizer.save(tmp_path / "starter" / "tokenizer.json")


@pytest.fixture
def held_run(monkeypatch):
    """A run waits at step 5 until the test sets this event: it cannot be over before the test looks."""
    from engine.session.session import Session

    go_on, plain = threading.Event(), Session.advance

    def advance(self):
        return plain(self) if self.trainer.step < 5 or go_on.wait(0.01) else []

    monkeypatch.setattr(Session, "advance", advance)
    return go_on


@pytest.fixture
def folder(data_folder):
    data_folder.mkdir(parents=True, exist_ok=True)
    return data_folder


@pytest.fixture
def program(qapp, qtbot, folder, no_starter):
    """Makes and starts programs on the test's data folder; stops them all."""
    made = []

    def make(start: bool = True) -> Program:
        one = Program(folder, qtbot)
        made.append(one)
        return one.start() if start else one

    yield make
    for one in made:
        one.state.stop()
        one.state.deleteLater()
    qapp.processEvents()


@pytest.fixture
def repository(tmp_path):
    return write_repository(tmp_path / "shelves")


@pytest.fixture
def tiny(folder, repository):
    """The id of a tiny base in the store."""
    return make_tiny_base(folder, repository)
