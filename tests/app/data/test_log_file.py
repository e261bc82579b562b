"""The log: errors with their frames, none of the user's paths or code, and a card for what nobody caught."""

from __future__ import annotations

import logging
import sys
import threading

import pytest

from app.data import log_file
from app.data.log_file import LogStream, close_log, discreet, open_log
from app.defects import MOST_ALIKE, Defects
from app.values.failures import failure_from
from engine.errors import CorpusError


@pytest.fixture
def written(data_folder):
    """Opens the log; gives what is in it so far."""
    data_folder.mkdir(parents=True, exist_ok=True)
    handler = open_log(data_folder)
    yield (data_folder / "codecoil.log").read_text
    close_log(handler)


def raised(error: Exception, cause: Exception | None = None) -> Exception:
    try:
        raise error from cause
    except Exception as caught:
        return caught


def test_a_failure_is_written_with_its_frames_and_without_its_paths(written):
    cause = raised(SyntaxError("invalid syntax", ("/home/ada/secret plan.py", 1, 1, "password = 'tiger'")))
    failure = failure_from(raised(CorpusError("/home/ada/orbit/moon.py cannot be read", "Look at it."), cause))
    assert failure.cause.startswith("/home/ada")  # the card tells everything
    text = written()
    assert "ERROR" in text and "in raised" in text and text.index("SyntaxError") < text.index("CorpusError: … cannot")
    for own in ("ada", "orbit", "moon", "plan", "tiger"):
        assert own not in text, own


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        ("'tax return' is no word", "… is no word"),
        (r"C:\Users\ada\x.py: not there", "… not there"),
        ("notes.txt was 3 bytes too long", "… was 3 bytes too long"),
        ("step 3.5 of 7", "step 3.5 of 7"),
        ("first\nprint(password)", "first"),
    ],
)
def test_words_without_names(words, kept):
    assert discreet(words) == kept


def test_it_stays_small(written, monkeypatch, data_folder):
    close_log(logging.getLogger("app").handlers[0])
    monkeypatch.setattr(log_file, "MOST_BYTES", 2000)
    handler = open_log(data_folder)
    for i in range(200):
        logging.getLogger("app.somewhere").info("line %d", i)
    close_log(handler)
    files = sorted(data_folder.glob("codecoil.log*"))
    assert len(files) == 2 and all(file.stat().st_size <= 2000 for file in files)
    assert "line 199" in files[0].read_text()


def test_a_folder_that_cannot_be_written_is_no_reason_not_to_start(tmp_path):
    assert open_log(tmp_path / "not there") is None
    close_log(None)


def test_printing_without_a_console_goes_to_the_log(written):
    print("half a", "line", file=(stream := LogStream()), end="")
    assert "half" not in written()
    print(" and the rest", file=stream)
    assert "half a line and the rest" in written()


@pytest.fixture
def defects(qapp, monkeypatch):
    """Installed with a console that is not there; pytest's own hooks come back."""
    monkeypatch.setattr(sys, "__stderr__", None)
    hooks = sys.excepthook, threading.excepthook
    one = Defects()
    one.install()
    yield one
    one.remove()
    assert hooks == (sys.excepthook, threading.excepthook)


def test_what_nobody_caught_is_told_from_any_thread(defects, written, qtbot):
    told = []
    defects.met.connect(told.append)
    thread = threading.Thread(target=lambda: 1 // 0)
    thread.start()
    thread.join()
    qtbot.waitUntil(lambda: len(told) == 1)
    assert "ZeroDivisionError" in told[0].cause and "bug" in told[0].remedy
    assert "ZeroDivisionError" in written()


def test_the_same_error_again_and_again_is_told_a_few_times(defects, written):
    told = []
    defects.met.connect(told.append)
    error = raised(ValueError("painting"))
    for _ in range(50):
        sys.excepthook(ValueError, error, error.__traceback__)
    assert len(told) == MOST_ALIKE == written().count("Unhandled error")


def test_qt_warnings_are_written(defects, written):
    from PySide6.QtCore import qWarning

    qWarning("the sheet is torn")
    assert "app.qt: the sheet is torn" in written()
