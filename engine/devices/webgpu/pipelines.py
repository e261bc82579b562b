"""Pipelines and bind-group layouts, made once per device and cached by what they are made of."""

from __future__ import annotations

import wgpu

from engine.devices.webgpu.launch import PARAMETER_BYTES, Launch
from engine.devices.webgpu.shaders import shader_source
from engine.errors import DeviceError


class Pipelines:
    """The compute pipelines of one device."""

    def __init__(self, device: wgpu.GPUDevice) -> None:
        self._device = device
        self._pipelines: dict[tuple, wgpu.GPUComputePipeline] = {}
        self._layouts: dict[int, wgpu.GPUBindGroupLayout] = {}
        self._modules: dict[tuple, wgpu.GPUShaderModule] = {}

    def __len__(self) -> int:
        return len(self._pipelines)

    def get(self, launch: Launch) -> wgpu.GPUComputePipeline:
        """The pipeline of a launch's shader with its header and constants."""
        header = tuple(sorted(launch.header.items()))
        key = (launch.shader, header, tuple(sorted(launch.constants.items())), len(launch.bindings))
        if key not in self._pipelines:
            try:
                self._pipelines[key] = self._compile(launch, header)
            except wgpu.GPUError as error:
                raise DeviceError(
                    f"The graphics driver rejected the kernel {launch.shader}: {error}.",
                    "Update the driver, or use the device 'cpu'.",
                ) from error
        return self._pipelines[key]

    def _compile(self, launch: Launch, header: tuple) -> wgpu.GPUComputePipeline:
        values = (*header, *launch.constants.items())
        label = " ".join([launch.shader, *(f"{name}={value}" for name, value in values)])
        bindings = [self.layout(len(launch.bindings))]
        module = self._module(launch.shader, header)
        return self._device.create_compute_pipeline(
            label=label,
            layout=self._device.create_pipeline_layout(label=label, bind_group_layouts=bindings),
            compute={"module": module, "entry_point": "main", "constants": launch.constants},
        )

    def add_shader(self, stem: str, code: str) -> None:
        """Register another shader under a name, for the benchmarks."""
        self._modules[stem, ()] = self._device.create_shader_module(label=stem, code=code)

    def _module(self, stem: str, header: tuple) -> wgpu.GPUShaderModule:
        if (stem, header) not in self._modules:
            self._modules[stem, header] = self._device.create_shader_module(
                label=stem, code=shader_source(stem, header)
            )
        return self._modules[stem, header]

    def layout(self, storages: int) -> wgpu.GPUBindGroupLayout:
        """Parameters with a dynamic offset, then `storages` storage buffers."""
        if storages not in self._layouts:
            self._layouts[storages] = self._make_layout(storages)
        return self._layouts[storages]

    def _make_layout(self, storages: int) -> wgpu.GPUBindGroupLayout:
        uniform = {"type": "uniform", "has_dynamic_offset": True, "min_binding_size": PARAMETER_BYTES}
        entries = [{"binding": 0, "visibility": "COMPUTE", "buffer": uniform}]
        entries += [{"binding": i + 1, "visibility": "COMPUTE", "buffer": {"type": "storage"}} for i in range(storages)]
        return self._device.create_bind_group_layout(label=f"parameters + {storages}", entries=entries)
