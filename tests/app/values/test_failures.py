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
        (errno.ENOSPC, "full (/data/x)", "disk space"),
        (errno.EACCES, "full (/data/x)", "permission"),
        (errno.EIO, "full (/data/x)", "Try again"),
    ],
)
def test_what_the_system_refuses_is_no_defect(number, cause, remedy):
    failure = failure_of(OSError(number, "full", "/data/x"))
    assert cause in failure.cause and remedy in failure.remedy and "Error" in failure.details
    assert failure_of(OSError(number, "full")).cause.endswith(" full.")


def test_anything_else_is_a_defect():
    assert "bug in Codecoil" in failure_of(KeyError("x")).remedy
    assert "bug in Codecoil" in failure_of(OSError("words without a number")).remedy
