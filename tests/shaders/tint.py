"""Compiles WGSL with Tint, the compiler in Chrome, which is stricter than the one in wgpu.

Tint comes inside Dawn's library, in the PyPI package `dawn-python`. Dawn's null backend checks all that WebGPU demands
of a shader (types, uniform control flow, overrides, limits) and needs no GPU, no driver and no thread. It writes no
code for a driver and runs nothing: running is for the tests of the kernels.

Only the package's raw bindings are used. Its `pydawn.utils` asks for the adapter's limits and for unsafe features, so
it lets through what a browser refuses, and it cuts off the end of a source that has characters outside ASCII.
"""

import ctypes
from functools import cache

from pydawn import webgpu as dawn


def compile_errors(wgsl: str) -> list[str]:
    """Tint's errors for one module, each with its line, the source and the reasons; empty if the module compiles."""
    module, errors = _create_module(wgsl)
    dawn.wgpuShaderModuleRelease(module)
    return errors


def create_pipeline_errors(wgsl: str, entry_point: str = "main", constants: dict | None = None) -> list[str]:
    """The module's errors or, if it has none, those of a compute pipeline with these override values.

    Only a pipeline shows whether workgroup arrays and sizes given by overrides, and the bindings used, keep the limits.
    """
    module, errors = _create_module(wgsl)
    if not errors:
        pipeline, errors = _create_pipeline(module, entry_point, constants or {})
        dawn.wgpuComputePipelineRelease(pipeline)
    dawn.wgpuShaderModuleRelease(module)
    return errors


@cache
def _instance():
    return dawn.wgpuCreateInstance(dawn.WGPUInstanceDescriptor())


@cache
def _device():
    """The null device of this process, never released, with what a page gets unasked: default limits, no features."""
    options = dawn.WGPURequestAdapterOptions(backendType=dawn.WGPUBackendType_Null)
    status, adapter, message = _call(
        dawn.wgpuInstanceRequestAdapter2, _instance(), options, dawn.WGPURequestAdapterCallbackInfo2
    )
    if status != dawn.WGPURequestAdapterStatus_Success:
        raise RuntimeError(f"Dawn gave no null adapter to compile shaders with: {message}")
    status, device, message = _call(
        dawn.wgpuAdapterRequestDevice2, adapter, dawn.WGPUDeviceDescriptor(), dawn.WGPURequestDeviceCallbackInfo2
    )
    if status != dawn.WGPURequestDeviceStatus_Success:
        raise RuntimeError(f"Dawn gave no null device to compile shaders with: {message}")
    return device


def _create_module(wgsl: str):
    source = dawn.WGPUShaderSourceWGSL(code=_string_view(wgsl))
    source.chain.sType = dawn.WGPUSType_ShaderSourceWGSL
    descriptor = dawn.WGPUShaderModuleDescriptor(nextInChain=ctypes.pointer(source.chain))
    return _create(dawn.wgpuDeviceCreateShaderModule, descriptor)


def _create_pipeline(module, entry_point: str, constants: dict):
    entries = [dawn.WGPUConstantEntry(key=_string_view(key), value=float(value)) for key, value in constants.items()]
    descriptor = dawn.WGPUComputePipelineDescriptor()
    descriptor.compute.module = module
    descriptor.compute.entryPoint = _string_view(entry_point)
    descriptor.compute.constantCount = len(entries)
    descriptor.compute.constants = (dawn.WGPUConstantEntry * len(entries))(*entries)
    return _create(dawn.wgpuDeviceCreateComputePipeline, descriptor)


def _create(create, descriptor):
    """What a create function of the device returns (an invalid object after an error), and the errors it raised."""
    filters = (dawn.WGPUErrorFilter_Validation, dawn.WGPUErrorFilter_OutOfMemory, dawn.WGPUErrorFilter_Internal)
    for error_filter in filters:
        dawn.wgpuDevicePushErrorScope(_device(), error_filter)
    created = create(_device(), descriptor)
    errors = []
    for _ in filters:
        _, error_type, message = _call(dawn.wgpuDevicePopErrorScope2, _device(), dawn.WGPUPopErrorScopeCallbackInfo2)
        if error_type != dawn.WGPUErrorType_NoError:
            errors.append(message)
    return created, errors


def _call(function, *arguments):
    """Calls an asynchronous function, the last argument being its type of callback info.

    Returns what the callback got, its last string as str. The null backend has finished before the wait begins.
    """
    *arguments, info_type = arguments
    results = []
    callback_type = info_type.get_type("callback")

    @callback_type
    def callback(*values):
        # The string is Dawn's own and gone after the callback, so it is copied here.
        *values, message, _userdata1, _userdata2 = values
        results.extend([*values, ctypes.string_at(message.data, message.length).decode().strip()])

    info = info_type(mode=dawn.WGPUCallbackMode_WaitAnyOnly, callback=callback)
    waited = dawn.WGPUFutureWaitInfo(future=function(*arguments, info))
    status = dawn.wgpuInstanceWaitAny(_instance(), 1, waited, 0)
    if status != dawn.WGPUWaitStatus_Success:
        raise RuntimeError(f"Dawn did not finish {function.__name__}: {dawn.WGPUWaitStatus__enumvalues[status]}")
    return results


def _string_view(text: str):
    encoded = text.encode()
    characters = ctypes.cast(ctypes.c_char_p(encoded), ctypes.POINTER(ctypes.c_char))
    return dawn.WGPUStringView(data=characters, length=len(encoded))
