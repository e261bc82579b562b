"""The WebGPU device: the same kernels as the CPU device, as WGSL on any adapter.  The only folder that imports wgpu.

    KernelCall ──launches/──▶ Launch ──pipelines──▶ Dispatch ──executable: one pass, one submit──▶ queue
    (views, numbers)     (shader, parameters, grid)     ▲
                                         shaders: text of shaders/<stem>.wgsl and its libraries

Everything is decided once, when a plan is bound: pipelines, bind groups, grids, and parameters in one uniform buffer
that dynamic offsets choose from. A run writes inputs and encodes the same pass again. Only `adapters`, `device`,
`executable`, `pipelines` and the two kinds of calls use wgpu; the others are plain values and are tested without it.

    adapters     which adapters there are, and what they are
    device       opens one; buffers, reading and writing, the loss of the device
    executable   a plan bound to buffers, and its replay
    calls        recording, submitting, reading back    low_level_calls   the same without wgpu-py's wrapper
    pipelines    pipelines and layouts, cached by what they are made of
    launch       what a dispatch is, as a value          launches/   a function per kernel that returns dispatches
    submits      which dispatches are submitted together
    stopwatch    timestamps, where the adapter has them
    shaders      the text of a shader                    autotune    what is fastest, measured once
    peaks        what an adapter can do at most, for the benchmark

One thread owns the device. An invalid submit aborts the process in wgpu-native, so sizes are checked here first.
"""
