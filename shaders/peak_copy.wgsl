// y = x, 16 bytes a lane: how fast this adapter moves memory.  x, y: (count).  Not a kernel of the engine; see
// engine/devices/webgpu/peaks.py.
//! lib: grid

struct Params {
    count: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> x: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> y: array<vec4f>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = flat_group(group, grid) * 256u + lane;
    if (i < p.count) {
        y[i] = x[i];
    }
}
