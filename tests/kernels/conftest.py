"""The devices that the kernel tests run on, opened once.  No WebGPU adapter is a failure here, not a skip."""

import pytest

from engine.devices import Device, open_device


@pytest.fixture(autouse=True)
def no_thread_left():
    """In place of the one for all tests: the devices keep their threads from test to test."""


@pytest.fixture(scope="session")
def cpu():
    opened = open_device("cpu")
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def webgpu(tmp_path_factory):
    """Under the limits of every WebGPU implementation.  Measurements of speed go to a folder of their own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CODECOIL_DATA", str(tmp_path_factory.mktemp("data")))
        opened = open_device("webgpu", portable=True)
    yield opened
    opened.close()


@pytest.fixture(params=["cpu", "webgpu"])
def device(request) -> Device:
    return request.getfixturevalue(request.param)
