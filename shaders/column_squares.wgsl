// partials[i] = sums of squares of the columns of x over the rows of block i.  x: (t, d); partials: (parts, d).
// One lane per (block of rows, column): neighbours read next to each other, and the blocks are summed in order later.
//! lib: grid

struct Params {
    rows: u32,
    width: u32,
    parts: u32,
    x_offset: u32,
    partials_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> partials: array<f32>;

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
        let value = x[p.x_offset + row * p.width + column];
        sum += value * value;
    }
    partials[p.partials_offset + part * p.width + column] = sum;
}
