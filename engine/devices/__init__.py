"""Devices: where kernels run.  `cpu` is NumPy and Numba, `webgpu` is wgpu and WGSL; one interface, the same kernel names and meaning."""

from __future__ import annotations

from engine.devices.cpu.device import CpuDevice
from engine.devices.interface import Device


def open_device(name: str = "auto") -> Device:
    return CpuDevice()
