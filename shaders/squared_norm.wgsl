// partials[i] = sum of squares of the i-th equal part of x.  x: (count); partials: (parts).  One workgroup per part.
//! lib: grid reduce

const LANES = 256u;
const ROOT = 16u;

struct Params {
    count: u32,
    parts: u32,
    x_offset: u32,
    partials_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> partials: array<f32>;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let part = flat_group(group, grid);
    if (part >= p.parts) {
        return;
    }
    let size = (p.count + p.parts - 1u) / p.parts;
    let begin = part * size;
    var sum = 0.0;
    for (var i = begin + lane; i < min(begin + size, p.count); i += LANES) {
        let value = x[p.x_offset + i];
        sum += value * value;
    }
    let all = sum_over_lanes(sum, lane);
    if (lane == 0u) {
        partials[p.partials_offset + part] = all;
    }
}
