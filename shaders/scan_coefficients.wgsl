// coefficients (n+2, d): rows 0..n-1 = -exp(A_log) transposed, row n = D, row n+1 = dt_bias: one binding for the scan
// instead of three, and neighbouring channels next to each other.  A_log: (d, n); D, dt_bias: (d).  One lane an
// element.
//! lib: grid

struct Params {
    states: u32,
    width: u32,
    A_log_offset: u32,
    D_offset: u32,
    dt_bias_offset: u32,
    coefficients_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> A_log: array<f32>;
@group(0) @binding(2) var<storage, read_write> D: array<f32>;
@group(0) @binding(3) var<storage, read_write> dt_bias: array<f32>;
@group(0) @binding(4) var<storage, read_write> coefficients: array<f32>;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = flat_group(group, grid) * 64u + lane;
    if (i >= (p.states + 2u) * p.width) {
        return;
    }
    let row = i / p.width;
    let channel = i % p.width;
    var value: f32;
    if (row < p.states) {
        value = -exp(A_log[p.A_log_offset + channel * p.states + row]);
    } else if (row == p.states) {
        value = D[p.D_offset + channel];
    } else {
        value = dt_bias[p.dt_bias_offset + channel];
    }
    coefficients[p.coefficients_offset + i] = value;
}
