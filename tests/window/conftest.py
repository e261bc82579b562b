"""The window on controllers whose threads are not started: a test says what they say."""

from tests.app.fake_engine import fake_engine  # noqa: F401  (fixture)
from tests.window.stage import *  # noqa: F403  (fixtures)
