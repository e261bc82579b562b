"""A window that a test plays: the real controllers without their threads, and a repository made of values."""

from __future__ import annotations

import PySide6.QtCore  # noqa: F401 - loaded here so that the thread watch sees every QThread
import pytest
from PySide6.QtCore import QCoreApplication, QEvent, Qt

from app.values.events import EngineFound, KernelLine
from app.values.repository import (
    Amount,
    ChangesSince,
    CorpusTotals,
    CorpusView,
    FileRow,
    LanguageShare,
    ReasonCount,
    SecretRow,
)

ROOT = "/somewhere/orbit"

__all__ = ["application", "main_window", "one_theme", "theme"]


@pytest.fixture(scope="session")
def one_theme(qapp):
    """Made once: styling all widgets takes longer than most tests."""
    from app.theme import Theme

    return Theme(qapp, "light")


@pytest.fixture
def theme(qapp, one_theme, monkeypatch):
    """The look that every part asks for; light, whatever the test before has chosen."""
    from app.theme import Theme

    monkeypatch.setattr(Theme, "_current", one_theme)
    one_theme.choose("light")
    one_theme._apply()
    return one_theme


@pytest.fixture
def application(qapp, tmp_path):
    """The controllers, their threads not started."""
    from app.state.application import Application

    application = Application(tmp_path / "data")
    yield application
    application.stop()
    application.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


@pytest.fixture
def main_window(theme, application, qtbot, monkeypatch):
    """The window in front, at its first size.  It loads nothing ahead: leaving would wait for the engine's import."""
    from app.window.main_window import MainWindow

    monkeypatch.setattr("app.window.preloading.load", lambda name: None)
    window = MainWindow(application, theme)
    window.show()
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow)
    yield window
    application.training.phase = "idle"
    window.shut()
    window.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)  # or every window would be restyled for ever


def press(qtbot, button) -> None:
    """Click what a user could click."""
    assert button.isVisible() and button.isEnabled()
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def rows() -> tuple[FileRow, ...]:
    """Eight files, one of every kind, sorted by path."""
    return (
        FileRow("README.md", "Markdown", 400, 100, True),
        FileRow("assets/logo.png", "", 9000, None, False, "binary", "binary"),
        FileRow("orbit/api/handlers/beam.py", "Python", 4000, 1000, True, held_out=True),
        FileRow("orbit/api/handlers/slot.py", "Python", 2000, 500, True, masked_lines=2),
        FileRow(
            "orbit/old.py", "Python", 2000, None, False, "near_duplicate", "nearly alike", "94 % like orbit/pass.py"
        ),
        FileRow("orbit/pass.py", "Python", 8000, 2000, True, overridden=True),
        FileRow("vendor/", "", 0, None, False, "vendored", "somebody else's code"),
        FileRow("web/panel.ts", "TypeScript", 1200, 300, True),
    )


def corpus(files: tuple[FileRow, ...] | None = None, root: str = ROOT, **changes) -> CorpusView:
    """A repository of these files."""
    files = rows() if files is None else files

    def amount(some) -> Amount:
        some = list(some)
        return Amount(len(some), sum(row.size for row in some), sum(row.tokens or 0 for row in some))

    learned = [row for row in files if row.learn]
    total = sum(row.tokens or 0 for row in learned) or 1
    languages = sorted({row.language for row in learned})
    shares = [
        LanguageShare(name, mine, mine.tokens / total)
        for name in languages
        for mine in [amount(row for row in learned if row.language == name)]
    ]
    reasons = {row.reason: row.reason_words for row in files if not row.learn}
    values = {
        "root": root,
        "files": files,
        "by_language": tuple(sorted(shares, key=lambda share: -share.share)),
        "by_reason": tuple(
            ReasonCount(key, words, amount(row for row in files if row.reason == key)) for key, words in reasons.items()
        ),
        "totals": CorpusTotals(
            amount(files),
            amount(learned),
            amount(row for row in learned if row.held_out),
            amount(row for row in files if not row.learn),
        ),
        "secrets": (
            SecretRow("orbit/api/handlers/slot.py", 12, "AWS access key", True, "one"),
            SecretRow("orbit/pass.py", 3, "password", False, "two"),
        ),
        "has_tokens": True,
        "seconds": 1.2,
    }
    return CorpusView(**(values | changes))


def open_repository(application, view: CorpusView | None = None) -> CorpusView:
    """As if the folder had been read."""
    view = view or corpus()
    application.repository.root = view.root
    application.repository.on_watcher("watching", "")
    application.repository.on_corpus(view, True)
    return view


def changes(files: int = 14, lines: int = 412, paths=("orbit/pass.py",)) -> ChangesSince:
    """Since the checkpoint "orbit #7"."""
    return ChangesSince("c7", "orbit #7", files, lines, tuple(paths), 38.0)


def find_devices(application) -> None:
    """As if two devices had been found."""
    from engine.devices import Choice, DeviceInfo

    cpu = DeviceInfo("cpu", "A processor", "NumPy + Numba", "cpu")
    card = DeviceInfo("webgpu:0", "A <b>graphics</b> card", "Vulkan", "discrete")
    kernels = (KernelLine("fill", "x = value"), KernelLine("adamw", "one step"))
    application.engine.on_engine_found(EngineFound((cpu, card), Choice(card, "a graphics card"), kernels))


def front(window) -> str:
    """The title of the page in front."""
    return window.pages.currentWidget().title
