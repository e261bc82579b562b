"""Devices to run tests on.  No WebGPU adapter is a failure here, not a skip.

The CPU device is opened for each test: it starts its threads when it first needs them, and a test may leave none
behind. The WebGPU device is opened once a folder, since compiling its pipelines takes seconds.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.devices import Device, open_device

__all__ = ["cpu", "device", "fresh_device", "fresh_webgpu", "measurements", "webgpu"]


@pytest.fixture(scope="session")
def measurements(tmp_path_factory) -> Path:
    """Where the race of the matrix products is kept: one race serves all devices of a test run."""
    folder = tmp_path_factory.getbasetemp() / "measurements"
    folder.mkdir(exist_ok=True)
    return folder


def open_portable(data: Path) -> Device:
    """A WebGPU device under the limits of every implementation."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CODECOIL_DATA", str(data))
        return open_device("webgpu", portable=True)


@pytest.fixture
def cpu() -> Iterator[Device]:
    opened = open_device("cpu")
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def webgpu(measurements) -> Iterator[Device]:
    """One for all tests; it does not hear of other devices' loss, which wgpu's log does not tell apart."""
    opened = open_portable(measurements)
    logging.getLogger("wgpu").removeHandler(opened._watch)
    yield opened
    opened.close()


@pytest.fixture
def fresh_webgpu(measurements) -> Iterator[Device]:
    """A device of its own, for tests that break it or count what it holds."""
    opened = open_portable(measurements)
    yield opened
    opened.close()


@pytest.fixture(params=["cpu", "webgpu"])
def device(request, cpu, webgpu) -> Device:
    """Both devices in turn; the one of the session is named here, so that it is open before the test begins."""
    return cpu if request.param == "cpu" else webgpu


@pytest.fixture(params=["cpu", "webgpu"])
def fresh_device(request, cpu, fresh_webgpu) -> Device:
    """Both devices in turn, each with a ledger that has nothing on it yet."""
    return cpu if request.param == "cpu" else fresh_webgpu
