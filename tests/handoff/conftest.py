"""The devices that these tests run on, a small repository and a tiny base."""

from tests.devices.opened import *  # noqa: F403  (fixtures)
from tests.session.small_repository import *  # noqa: F403  (fixtures)
