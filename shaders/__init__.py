"""WGSL, one operation a file; `lib/` holds functions that several files share.  Loaded by engine.devices.webgpu.shaders."""
