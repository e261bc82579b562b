"""The program without a window."""

from tests.app.state.program import *  # noqa: F403  (fixtures)
