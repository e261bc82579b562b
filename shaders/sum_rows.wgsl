// y (i, j) (+)= sum over the parts of x (parts, i*j), in order.  y has rows y_stride apart.  One lane per element of y.
//! lib: grid

struct Params {
    parts: u32,
    count: u32,
    width: u32,
    accumulate: u32,
    x_stride: u32,
    y_stride: u32,
    x_offset: u32,
    y_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = flat_group(group, grid) * 64u + lane;
    if (i >= p.count) {
        return;
    }
    var sum = 0.0;
    for (var part = 0u; part < p.parts; part++) {
        sum += x[p.x_offset + part * p.x_stride + i];
    }
    let at = p.y_offset + i / p.width * p.y_stride + i % p.width;
    if (p.accumulate != 0u) {
        sum += y[at];
    }
    y[at] = sum;
}
