"""Speeds that were measured, by device, version and model."""

from __future__ import annotations

import json

import pytest

from app.data import machine_speeds
from app.data.machine_speeds import FILE_NAME, MachineSpeeds, device_key
from engine.devices import DeviceInfo
from engine.session.machine_speed import MachineSpeed

SPEED = MachineSpeed(160.0, 70.0, 5, 30)


def test_a_speed_is_remembered_for_its_device_and_model(tmp_path):
    MachineSpeeds(tmp_path).keep("a processor", "llama", SPEED)
    MachineSpeeds(tmp_path).keep("a processor", "qwen", MachineSpeed(40.0, 20.0, 5, 24))
    again = MachineSpeeds(tmp_path)
    assert again.known("a processor") == {"llama": SPEED, "qwen": MachineSpeed(40.0, 20.0, 5, 24)}
    assert again.known("a card") == {}


def test_the_latest_counts(tmp_path):
    speeds = MachineSpeeds(tmp_path)
    speeds.keep("a processor", "llama", MachineSpeed(1.0, 1.0, 5, 30))
    speeds.keep("a processor", "llama", SPEED)
    assert speeds.known("a processor") == {"llama": SPEED}
    assert len(json.loads((tmp_path / FILE_NAME).read_text())) == 1


def test_another_version_measures_again(tmp_path, monkeypatch):
    MachineSpeeds(tmp_path).keep("a processor", "llama", SPEED)
    monkeypatch.setattr(machine_speeds, "VERSION", "99.0")
    assert MachineSpeeds(tmp_path).known("a processor") == {}


@pytest.mark.parametrize("content", [b"", b"{", b"{}", b"[1]", b'[{"device": "a processor", "version": "0.1.0"}]'])
def test_a_damaged_file_counts_as_empty_and_is_replaced(tmp_path, content):
    (tmp_path / FILE_NAME).write_bytes(content)
    speeds = MachineSpeeds(tmp_path)
    assert speeds.known("a processor") == {}
    speeds.keep("a processor", "llama", SPEED)
    assert speeds.known("a processor") == {"llama": SPEED}


def test_a_device_is_another_with_another_driver_or_fewer_threads():
    cpu = DeviceInfo("cpu", "A processor", "NumPy + Numba", "cpu", limits={"threads": 8})
    card = DeviceInfo("webgpu:0", "A card", "Vulkan", "discrete", "driver 1")
    others = [
        DeviceInfo("cpu", "A processor", "NumPy + Numba", "cpu", limits={"threads": 4}),
        DeviceInfo("webgpu:0", "A card", "Vulkan", "discrete", "driver 2"),
    ]
    assert len({device_key(each) for each in (cpu, card, *others)}) == 4
    assert device_key(DeviceInfo("webgpu:1", "A card", "Vulkan", "discrete", "driver 1")) == device_key(card)
