// The end of a Mamba layer for one token: delta from its low-rank input, the selective scan from `state` (n, d), which
// moves on, and the gate.  g = y * silu(z).
// u, z, g: (1, d); x_dbl: (1, rank + 2n) = input of delta, B, C; weight: (d, rank); coefficients: (n+2, d).
// A workgroup has 16 channels; four lanes share the sum of delta and the states of each, so that enough lanes read the
// weights and the state, and no lane goes through many loads one after another.
//! lib: grid activation

const LOG2E = 1.4426950408889634;
const CHANNELS = 16u;
const PARTS = 4u;

struct Params {
    width: u32,
    states: u32,
    rank: u32,
    u_offset: u32,
    x_dbl_offset: u32,
    weight_offset: u32,  // of vec4
    coefficients_offset: u32,
    state_offset: u32,
    z_offset: u32,
    g_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> u: array<f32>;
@group(0) @binding(2) var<storage, read_write> x_dbl: array<f32>;
@group(0) @binding(3) var<storage, read_write> weight: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> coefficients: array<f32>;
@group(0) @binding(5) var<storage, read_write> state: array<f32>;
@group(0) @binding(6) var<storage, read_write> z: array<f32>;
@group(0) @binding(7) var<storage, read_write> g: array<f32>;

var<workgroup> deltas: array<f32, 64>;  // [part][channel]
var<workgroup> outputs: array<f32, 64>;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let own = flat_group(group, grid) * CHANNELS + lane % CHANNELS;
    let channel = min(own, p.width - 1u);
    let part = lane / CHANNELS;
    let quads = p.rank / 4u;
    var delta = 0.0;
    for (var i = part; i < quads; i += PARTS) {
        let at = p.x_dbl_offset + 4u * i;
        delta += dot(
            weight[p.weight_offset + channel * quads + i],
            vec4f(x_dbl[at], x_dbl[at + 1u], x_dbl[at + 2u], x_dbl[at + 3u]),
        );
    }
    deltas[lane] = delta;
    workgroupBarrier();
    let c = lane % CHANNELS;
    let low_rank = (deltas[c] + deltas[c + CHANNELS]) + (deltas[c + 2u * CHANNELS] + deltas[c + 3u * CHANNELS]);
    let after_states = p.coefficients_offset + p.states * p.width + channel;
    let step = softplus(low_rank + coefficients[after_states + p.width]);
    let drive = step * u[p.u_offset + channel];
    let B_at = p.x_dbl_offset + p.rank;
    var sum = 0.0;
    for (var n = part; n < p.states; n += PARTS) {
        let at = n * p.width + channel;
        let A = LOG2E * coefficients[p.coefficients_offset + at];
        let h = exp2(step * A) * state[p.state_offset + at] + drive * x_dbl[B_at + n];
        sum += h * x_dbl[B_at + p.states + n];
        if (own < p.width) {
            state[p.state_offset + at] = h;
        }
    }
    outputs[lane] = sum;
    workgroupBarrier();
    if (lane < CHANNELS && own < p.width) {
        let y = coefficients[after_states] * u[p.u_offset + channel]
            + ((outputs[c] + outputs[c + CHANNELS]) + (outputs[c + 2u * CHANNELS] + outputs[c + 3u * CHANNELS]));
        g[p.g_offset + channel] = y * silu(z[p.z_offset + channel]);
    }
}
