// The selective scan over a few tokens (at most 8) of one sequence, from `state` (n, d), which moves on behind them.
// u, delta, y: (t, d); x_dbl: (t, rank + 2n), rows x_dbl_row apart; coefficients: (n+2, d).
// One lane per channel; the states one after the other, each through all tokens, so none has to stay in registers.
//! lib: grid activation

const MOST = 8u;
const LOG2E = 1.4426950408889634;

struct Params {
    tokens: u32,
    width: u32,
    states: u32,
    rank: u32,
    x_dbl_row: u32,
    u_offset: u32,
    delta_offset: u32,
    x_dbl_offset: u32,
    coefficients_offset: u32,
    state_offset: u32,
    y_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> u: array<f32>;
@group(0) @binding(2) var<storage, read_write> delta: array<f32>;
@group(0) @binding(3) var<storage, read_write> x_dbl: array<f32>;
@group(0) @binding(4) var<storage, read_write> coefficients: array<f32>;
@group(0) @binding(5) var<storage, read_write> state: array<f32>;
@group(0) @binding(6) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let channel = flat_group(group, grid) * 64u + lane;
    if (channel >= p.width) {
        return;
    }
    let D = coefficients[p.coefficients_offset + p.states * p.width + channel];
    let dt_bias = coefficients[p.coefficients_offset + (p.states + 1u) * p.width + channel];
    var step: array<f32, MOST>;
    var drive: array<f32, MOST>;
    var sum: array<f32, MOST>;
    for (var t = 0u; t < p.tokens; t++) {
        let x = u[p.u_offset + t * p.width + channel];
        step[t] = softplus(delta[p.delta_offset + t * p.width + channel] + dt_bias);
        drive[t] = step[t] * x;
        sum[t] = D * x;
    }
    for (var n = 0u; n < p.states; n++) {
        let A = LOG2E * coefficients[p.coefficients_offset + n * p.width + channel];
        let at = n * p.width + channel;
        var h = state[p.state_offset + at];
        for (var t = 0u; t < p.tokens; t++) {
            let row = p.x_dbl_offset + t * p.x_dbl_row + p.rank;
            h = exp2(step[t] * A) * h + drive[t] * x_dbl[row + n];
            sum[t] += h * x_dbl[row + p.states + n];
        }
        state[p.state_offset + at] = h;
    }
    for (var t = 0u; t < p.tokens; t++) {
        y[p.y_offset + t * p.width + channel] = sum[t];
    }
}
