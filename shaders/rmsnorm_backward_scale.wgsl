// d_scale[i] = sum over the rows of block i of d_y * x * inverse_rms.  d_y, x: (t, m); inverse_rms: (t); d_scale:
// (parts, m). One lane per (block of rows, column): neighbours read next to each other, and the blocks are summed in
// order later.
//! lib: grid

struct Params {
    rows: u32,
    width: u32,
    parts: u32,
    d_y_offset: u32,
    x_offset: u32,
    inverse_rms_offset: u32,
    d_scale_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> d_y: array<f32>;
@group(0) @binding(2) var<storage, read_write> x: array<f32>;
@group(0) @binding(3) var<storage, read_write> inverse_rms: array<f32>;
@group(0) @binding(4) var<storage, read_write> d_scale: array<f32>;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let unit = flat_group(group, grid);
    let blocks = (p.width + 63u) / 64u;
    let part = unit / blocks;
    let column = unit % blocks * 64u + lane;
    if (part >= p.parts || column >= p.width) {
        return;
    }
    let rows = (p.rows + p.parts - 1u) / p.parts;
    var sum = 0.0;
    for (var row = part * rows; row < min((part + 1u) * rows, p.rows); row++) {
        let at = row * p.width + column;
        sum += d_y[p.d_y_offset + at] * x[p.x_offset + at] * inverse_rms[p.inverse_rms_offset + row];
    }
    d_scale[p.d_scale_offset + part * p.width + column] = sum;
}
