"""Devices: where kernels run. `cpu` is NumPy and Numba, `webgpu` is wgpu and WGSL; one interface, the same kernel
names and meaning.

    interface   what a device is            kernels   (engine.graph.kernels) what it must be able to do
    cpu/        NumPy's BLAS and Numba      choice    which devices there are and which one to use
    webgpu/     wgpu-py and shaders/        ledger    every allocated byte, by kind, against the ceiling
    interludes  other work in the middle of a long program

    samples, decode_samples, attention_samples, ssd_samples, mixture_samples, fused_samples, sample_parts
                                            small inputs for every kernel: self-test, tests, warm-up
    reference, decode_reference, attention_reference, ssd_reference, mixture_reference, fused_reference
                                            what every kernel means, in float64
    single_kernel                           runs one kernel alone

wgpu is imported only in `webgpu/`, and only when needed: a machine without a driver still has the CPU device.
"""

from engine.devices.choice import Choice, DeviceInfo, choose_device, list_devices, open_device
from engine.devices.interface import Device

__all__ = ["Choice", "Device", "DeviceInfo", "choose_device", "list_devices", "open_device"]
