"""The program on a small engine of its own (see `fake_engine`), and the command line in this process."""

from __future__ import annotations

import sys

import PySide6.QtCore  # noqa: F401 - loaded here so that the thread watch sees every QThread
import pytest

from app.display import binding_problem
from tests.app.fake_engine import *  # noqa: F403  (fixtures)


@pytest.fixture(scope="session", autouse=True)
def usable_binding():
    """A PySide6 that would end the process half way through the tests is named at once."""
    problem = binding_problem()
    if problem:
        pytest.fail(problem)


@pytest.fixture
def run_program():
    """Runs the command line in this process; gives the exit code."""
    from app.command_line import main

    return main


@pytest.fixture
def python():
    """The interpreter to start the program with."""
    return sys.executable
