// From d_steps (t, 3h) of the scan: d_dt (t, h)?, 0 where Delta was held at a limit, and d_coefficients (parts, 3, h)?,
// sums of the gradients of A, D and dt_bias over blocks of rows.  steps: (t, 2h) = Delta, Delta * A; dt and d_dt: (t,
// h), rows dt_row and d_dt_row apart; coefficients: (3, h) = A, D, dt_bias.  One lane per (block of rows, head).
// It reads a few tokens ahead, as in ssd_decays.wgsl.
//! lib: grid activation

const AHEAD = 8u;

struct Params {
    tokens: u32,
    heads: u32,
    parts: u32,
    dt_row: u32,
    d_dt_row: u32,
    want_dt: u32,
    want_coefficients: u32,
    lowest: f32,
    highest: f32,
    d_steps_offset: u32,
    steps_offset: u32,
    dt_offset: u32,
    coefficients_offset: u32,
    d_dt_offset: u32,
    d_coefficients_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> d_steps: array<f32>;
@group(0) @binding(2) var<storage, read_write> steps: array<f32>;
@group(0) @binding(3) var<storage, read_write> dt: array<f32>;
@group(0) @binding(4) var<storage, read_write> coefficients: array<f32>;
@group(0) @binding(5) var<storage, read_write> d_dt: array<f32>;
@group(0) @binding(6) var<storage, read_write> d_coefficients: array<f32>;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let unit = flat_group(group, grid) * 64u + lane;
    if (unit >= p.parts * p.heads) {
        return;
    }
    let head = unit % p.heads;
    let part = unit / p.heads;
    let rows = (p.tokens + p.parts - 1u) / p.parts;
    let A = coefficients[p.coefficients_offset + head];
    let dt_bias = coefficients[p.coefficients_offset + 2u * p.heads + head];
    var sums = vec3f();
    let end = min((part + 1u) * rows, p.tokens);
    for (var start = part * rows; start < end; start += AHEAD) {
        var own: array<f32, AHEAD>;
        for (var q = 0u; q < AHEAD; q++) {
            let token = min(start + q, end - 1u);
            let at = p.d_steps_offset + 3u * token * p.heads + head;
            let d_decay = d_steps[at + p.heads];
            let before = dt[p.dt_offset + token * p.dt_row + head] + dt_bias;
            let free = softplus(before);
            let held = free < p.lowest || free > p.highest;
            own[q] = select((d_steps[at] + A * d_decay) * sigmoid(before), 0.0, held);
            let Delta = steps[p.steps_offset + 2u * token * p.heads + head];
            sums += select(vec3f(), vec3f(Delta * d_decay, d_steps[at + 2u * p.heads], own[q]), start + q < end);
        }
        for (var q = 0u; q < AHEAD; q++) {
            if (p.want_dt != 0u && start + q < end) {
                d_dt[p.d_dt_offset + (start + q) * p.d_dt_row + head] = own[q];
            }
        }
    }
    if (p.want_coefficients != 0u) {
        let at = p.d_coefficients_offset + 3u * part * p.heads + head;
        d_coefficients[at] = sums.x;
        d_coefficients[at + p.heads] = sums.y;
        d_coefficients[at + 2u * p.heads] = sums.z;
    }
}
