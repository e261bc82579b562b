// steps (t, 2h) of Mamba-2's heads: Delta = softplus(dt + dt_bias) held between two limits, then Delta * A.
// dt: (t, h), rows dt_row apart; coefficients: (3, h) = A, D, dt_bias.  One lane per (token, head).
//! lib: grid activation

struct Params {
    count: u32,
    heads: u32,
    dt_row: u32,
    lowest: f32,
    highest: f32,
    dt_offset: u32,
    coefficients_offset: u32,
    steps_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> dt: array<f32>;
@group(0) @binding(2) var<storage, read_write> coefficients: array<f32>;
@group(0) @binding(3) var<storage, read_write> steps: array<f32>;

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
    let token = i / p.heads;
    let head = i % p.heads;
    let before = dt[p.dt_offset + token * p.dt_row + head] + coefficients[p.coefficients_offset + 2u * p.heads + head];
    let Delta = clamp(softplus(before), p.lowest, p.highest);
    let at = p.steps_offset + 2u * token * p.heads + head;
    steps[at] = Delta;
    steps[at + p.heads] = Delta * coefficients[p.coefficients_offset + head];
}
