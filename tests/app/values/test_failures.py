"""What an exception is called in the window."""

from __future__ import annotations

import errno

import pytest

from app.values.failures import failure_of
from engine.errors import ConfigError


def test_what_the_engine_says_is_said():
    failure = failure_of(ConfigError("Steps is -1.", "Choose at least 1."), "cpu")
    assert (failure.cause, failure.remedy, failure.device) == ("Steps is -1.", "Choose at least 1.", "cpu")


@pytest.mark.parametrize(
    ("number", "cause", "remedy"),
    [
        (errno.ENOSPC, "The system refused: full (/data/x).", "Make room"),
        (errno.EACCES, "The system refused: full (/data/x).", "Let Codecoil read and write there"),
        (errno.EIO, "The system refused: full (/data/x).", "Try again"),
    ],
)
def test_what_the_system_refuses_is_no_defect(number, cause, remedy):
    failure = failure_of(OSError(number, "full", "/data/x"))
    assert failure.cause == cause and failure.remedy.startswith(remedy) and "Error" in failure.details
    assert failure_of(OSError(number, "full")).cause == "The system refused: full."


def test_anything_else_is_a_defect():
    assert "defect in Codecoil" in failure_of(KeyError("x")).remedy
    assert "defect in Codecoil" in failure_of(OSError("words without a number")).remedy
