// d_scale[i] = sum over the rows of block i of d_y * x * inverse_rms.  d_y, x: (t, m); inverse_rms: (t); d_scale:
// (parts, groups, m), row j of x counting for group j mod groups. One lane per (block of rows, column): neighbours read next to each other, and the blocks are summed in
// order later.
//! lib: grid

struct Params {
    rows: u32,
    width: u32,
    groups: u32,
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
    let all = p.groups * p.width;
    let blocks = (all + 63u) / 64u;
    let part = unit / blocks;
    let column = unit % blocks * 64u + lane;
    if (part >= p.parts || column >= all) {
        return;
    }
    let rows = (p.rows + p.parts - 1u) / p.parts;
    var sum = 0.0;
    let begin = part * rows;
    let first = begin + (column / p.width + p.groups - begin % p.groups) % p.groups;
    for (var row = first; row < min(begin + rows, p.rows); row += p.groups) {
        let at = row * p.width + column % p.width;
        sum += d_y[p.d_y_offset + at] * x[p.x_offset + at] * inverse_rms[p.inverse_rms_offset + row];
    }
    d_scale[p.d_scale_offset + part * all + column] = sum;
}
