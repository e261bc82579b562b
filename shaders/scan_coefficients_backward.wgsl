// Sums the partial sums of the scan's backward over the sequences, in order, into the gradients of A_log (A * d_A), D
// and dt_bias. d_coefficients: (b, n+2, d); coefficients: (n+2, d); d_A_log: (d, n); d_D, d_dt_bias: (d).  One lane an
// element.
//! lib: grid

struct Params {
    sequences: u32,
    states: u32,
    width: u32,
    accumulate: u32,
    d_coefficients_offset: u32,
    coefficients_offset: u32,
    d_A_log_offset: u32,
    d_D_offset: u32,
    d_dt_bias_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> d_coefficients: array<f32>;
@group(0) @binding(2) var<storage, read_write> coefficients: array<f32>;
@group(0) @binding(3) var<storage, read_write> d_A_log: array<f32>;
@group(0) @binding(4) var<storage, read_write> d_D: array<f32>;
@group(0) @binding(5) var<storage, read_write> d_dt_bias: array<f32>;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = flat_group(group, grid) * 64u + lane;
    let elements = (p.states + 2u) * p.width;
    if (i >= elements) {
        return;
    }
    let row = i / p.width;
    let channel = i % p.width;
    var sum = 0.0;
    for (var sequence = 0u; sequence < p.sequences; sequence++) {
        sum += d_coefficients[p.d_coefficients_offset + sequence * elements + i];
    }
    let keep = p.accumulate != 0u;
    if (row < p.states) {
        sum *= coefficients[p.coefficients_offset + i];
        let at = p.d_A_log_offset + channel * p.states + row;
        if (keep) {
            sum += d_A_log[at];
        }
        d_A_log[at] = sum;
    } else if (row == p.states) {
        if (keep) {
            sum += d_D[p.d_D_offset + channel];
        }
        d_D[p.d_D_offset + channel] = sum;
    } else {
        if (keep) {
            sum += d_dt_bias[p.d_dt_bias_offset + channel];
        }
        d_dt_bias[p.d_dt_bias_offset + channel] = sum;
    }
}
