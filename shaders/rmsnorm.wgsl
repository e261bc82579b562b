// y = scale * x * inverse_rms, inverse_rms = 1 / sqrt(mean(x^2) + epsilon) per row.
// x, y: (t, m); scale: (groups, m), of which row i takes number i mod groups; inverse_rms: (t).  One workgroup per row: m is small, so one pass beats a tree across
// workgroups.
//! lib: grid reduce

const LANES = 64u;
const ROOT = 8u;

struct Params {
    rows: u32,
    width: u32,
    groups: u32,
    epsilon: f32,
    x_offset: u32,
    scale_offset: u32,
    y_offset: u32,
    inverse_rms_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> scale: array<f32>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;
@group(0) @binding(4) var<storage, read_write> inverse_rms: array<f32>;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let row = flat_group(group, grid);
    if (row >= p.rows) {
        return;
    }
    let x_row = p.x_offset + row * p.width;
    var squares = 0.0;
    for (var j = lane; j < p.width; j += LANES) {
        squares += x[x_row + j] * x[x_row + j];
    }
    let inverse = 1.0 / sqrt(sum_over_lanes(squares, lane) / f32(p.width) + p.epsilon);
    for (var j = lane; j < p.width; j += LANES) {
        y[p.y_offset + row * p.width + j] = scale[p.scale_offset + row % p.groups * p.width + j] * x[x_row + j] * inverse;
    }
    if (lane == 0u) {
        inverse_rms[p.inverse_rms_offset + row] = inverse;
    }
}
