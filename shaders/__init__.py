"""WGSL, one operation a file; `lib/` holds what several share.  Loaded by engine.devices.webgpu.shaders."""
