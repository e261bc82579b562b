"""The devices that these tests run on."""

from tests.devices.opened import *  # noqa: F403  (fixtures)
