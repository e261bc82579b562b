// Mamba-2's scan over a few tokens of one sequence, from `state` (h*n, e), which moves on behind them.  There are at
// most TOKENS, a constant so that the loops over them unroll.
// x: (t, row), a row being h*e channels, then B (g*n), then C (g*n); dt: (t, h), rows dt_row apart; coefficients:
// (3, h) = A, D, dt_bias.  The shader that includes this says by `put` where an output (t, h*e) goes.
// A workgroup has 32 channels, of whichever heads; 8 lanes share the states of a channel, so that enough lanes read the
// state, which is what the time goes to, four at a time so that the loads do not wait for the stores.

const LOG2E = 1.4426950408889634;

struct Params {
    tokens: u32,
    heads: u32,
    head_dim: u32,
    groups: u32,
    state_size: u32,
    row: u32,
    dt_row: u32,
    lowest: f32,
    highest: f32,
    x_offset: u32,
    dt_offset: u32,
    coefficients_offset: u32,
    state_offset: u32,
    y_offset: u32,
    z_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> dt: array<f32>;
@group(0) @binding(3) var<storage, read_write> coefficients: array<f32>;
@group(0) @binding(4) var<storage, read_write> state: array<f32>;

var<workgroup> shares: array<f32, TOKENS * 256>;  // [token][part][channel]

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let inner = p.heads * p.head_dim;
    let own = flat_group(group, grid) * 32u + lane % 32u;
    let part = lane / 32u;
    let channel = min(own, inner - 1u);
    let head = channel / p.head_dim;
    let B_at = p.x_offset + inner + head / (p.heads / p.groups) * p.state_size;
    let C_at = B_at + p.groups * p.state_size;
    let A = LOG2E * coefficients[p.coefficients_offset + head];
    let D = coefficients[p.coefficients_offset + p.heads + head];
    let dt_bias = coefficients[p.coefficients_offset + 2u * p.heads + head];
    var decay: array<f32, TOKENS>;
    var drive: array<f32, TOKENS>;
    var sum: array<f32, TOKENS>;
    for (var t = 0u; t < TOKENS; t++) {
        let token = min(t, p.tokens - 1u);
        let Delta = clamp(softplus(dt[p.dt_offset + token * p.dt_row + head] + dt_bias), p.lowest, p.highest);
        decay[t] = exp2(Delta * A);
        drive[t] = Delta * x[p.x_offset + token * p.row + channel];
        if (t >= p.tokens) {  // the state stays as it is
            decay[t] = 1.0;
            drive[t] = 0.0;
        }
    }
    let each = (p.state_size + 31u) / 32u * 4u;
    let place = p.state_offset + head * p.state_size * p.head_dim + channel % p.head_dim;
    for (var n = part * each; n < min((part + 1u) * each, p.state_size); n += 4u) {
        let four = vec4u(n) + vec4u(0u, 1u, 2u, 3u);
        let live = four < vec4u(p.state_size);
        let some = min(four, vec4u(p.state_size - 1u));
        let at = place + some * p.head_dim;
        var h = vec4f(state[at.x], state[at.y], state[at.z], state[at.w]);
        for (var t = 0u; t < TOKENS; t++) {
            let row = min(t, p.tokens - 1u) * p.row;
            let b = B_at + row + some;
            let c = C_at + row + some;
            h = decay[t] * h + drive[t] * vec4f(x[b.x], x[b.y], x[b.z], x[b.w]);
            let products = h * vec4f(x[c.x], x[c.y], x[c.z], x[c.w]);
            sum[t] += dot(select(vec4f(), products, live), vec4f(1.0));
        }
        if (own < inner) {
            // Past the last state it is the last one again, with the same value.
            state[at.x] = h.x;
            state[at.y] = h.y;
            state[at.z] = h.z;
            state[at.w] = h.w;
        }
    }
    for (var t = 0u; t < TOKENS; t++) {
        shares[t * 256u + lane] = sum[t];
    }
    workgroupBarrier();
    for (var t = part; t < p.tokens; t += 8u) {
        if (own < inner) {
            var total = D * x[p.x_offset + t * p.row + channel];
            for (var i = 0u; i < 8u; i++) {
                total += shares[t * 256u + i * 32u + lane % 32u];
            }
            put(p.y_offset + t * inner + channel, channel, total);
        }
    }
}
