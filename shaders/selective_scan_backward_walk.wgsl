// Chunked backward of the selective scan, third phase: every 64 tokens on their own, from the state before them and G
// behind them.  A workgroup has 64 channels of a chunk, a lane four states of a channel: then the states before each 8
// tokens, and w of 8 tokens, fit into registers, and nothing but its results goes to memory.
// It takes at most 16 states.  Equations and shapes: lib/scan_backward.wgsl, lib/scan_backward_chunks.wgsl.
//! lib: grid activation scan_backward scan_backward_chunks

const LOG2E = 1.4426950408889634;
const RUN = 8u;
const QUADS = (N + 3u) / 4u;
const LANES = 64u * QUADS;
const VALUES = 8u * QUADS;  // d_B, then d_C
const PITCH = 65u;  // odd: no two lanes of a wave on the same bank
const PARTS = 8u;  // lanes that share the sum of a value over the channels

var<private> A: vec4f;
var<private> h: vec4f;
var<private> G: vec4f;
var<private> d_A: vec4f;
var<private> w: array<vec4f, RUN>;
var<private> d_D: f32;
var<private> d_dt_bias: f32;
var<workgroup> tile: array<vec4f, RUN * 2u * QUADS>;  // of a token: quads of B, quads of C
var<workgroup> inputs: array<vec2f, RUN * 64u>;  // of a token, by channel: Delta and u
var<workgroup> shares: array<f32, VALUES * PITCH>;
var<workgroup> sums: array<f32, LANES>;
var<workgroup> quad_sums: array<vec2f, 64u * max(QUADS - 1u, 1u)>;  // of q and of s, over the states of lanes 64 ...

struct Place {
    lane: u32,
    channel: u32,  // of the lane: 64 lanes side by side have neighbours, ...
    quad: u32,  // ... and the same states
    live: bool,  // lanes beyond the width repeat the last channel with d_y = G = 0
    dt_bias: f32,
    D: f32,
    partials: u32,  // of the block's first token
}

fn state_value(at: u32, state: u32) -> f32 {
    if (state >= N) {
        return 0.0;
    }
    return x_dbl[at + state];
}

// B and C of `count` tokens from `first`, a row of x_dbl, and Delta and u.
fn load_tile(first: u32, count: u32, to: Place) {
    workgroupBarrier();
    for (var k = to.quad; k < count; k += QUADS) {
        let at = (first + k) * p.width + to.channel;
        let step = softplus(delta[p.delta_offset + at] + to.dt_bias);
        inputs[k * 64u + to.lane % 64u] = vec2f(step, u[p.u_offset + at]);
    }
    for (var i = to.lane; i < count * 2u * QUADS; i += LANES) {
        let quad = i % (2u * QUADS);
        let n = 4u * (quad % QUADS);
        let at = p.x_dbl_offset + (first + i / (2u * QUADS)) * p.row + p.rank + quad / QUADS * N;
        tile[i] = vec4f(state_value(at, n), state_value(at, n + 1u), state_value(at, n + 2u), state_value(at, n + 3u));
    }
    workgroupBarrier();
}

// One token on; leaves w of the k-th of a run.
fn advance(k: u32, to: Place) {
    let input = inputs[k * 64u + to.lane % 64u];
    w[k] = exp2(input.x * A) * h;
    h = w[k] + input.x * input.y * tile[k * 2u * QUADS + to.quad];
}

// One token back.  To be called by all lanes.
fn walk(k: u32, token: u32, to: Place) {
    let at = token * p.width + to.channel;
    let input = inputs[k * 64u + to.lane % 64u];
    let drive = input.x * input.y;
    let d_out = select(0.0, d_y[p.d_y_offset + at], to.live);
    let before = delta[p.delta_offset + at];
    let B = tile[k * 2u * QUADS + to.quad];
    let dh = d_out * tile[k * 2u * QUADS + QUADS + to.quad] + G;
    let dh_w = dh * w[k];
    d_A += input.x * dh_w;
    let own_sums = vec2f(dot(dh_w, A), dot(dh, B));
    if (to.lane >= 64u) {
        quad_sums[to.lane - 64u] = own_sums;
    }
    G = exp2(input.x * A) * dh;
    let d_B = drive * dh;
    let d_C = d_out * (w[k] + drive * B);
    let share = to.quad * 4u * PITCH + to.lane % 64u;
    shares[share] = d_B.x;
    shares[share + PITCH] = d_B.y;
    shares[share + 2u * PITCH] = d_B.z;
    shares[share + 3u * PITCH] = d_B.w;
    shares[share + 4u * QUADS * PITCH] = d_C.x;
    shares[share + (4u * QUADS + 1u) * PITCH] = d_C.y;
    shares[share + (4u * QUADS + 2u) * PITCH] = d_C.z;
    shares[share + (4u * QUADS + 3u) * PITCH] = d_C.w;
    workgroupBarrier();
    sum_channels(to.lane);
    if (to.lane < 64u) {
        store_inputs(at, input, before, d_out, own_sums, to);
    }
    workgroupBarrier();
    // `sums` is safe until all lanes have passed the first barrier of the next token.
    let state = to.lane % (4u * QUADS);
    if (to.lane < VALUES && state < N) {
        var sum = sums[to.lane];
        for (var part = 1u; part < PARTS; part++) {
            sum += sums[to.lane + part * VALUES];
        }
        partials[to.partials + token * 2u * N + to.lane / (4u * QUADS) * N + state] = sum;
    }
}

// Each lane adds a value over 8 channels.
fn sum_channels(lane: u32) {
    let from_share = lane % VALUES * PITCH + lane / VALUES * 8u;
    sums[lane] = ((shares[from_share] + shares[from_share + 1u]) + (shares[from_share + 2u] + shares[from_share + 3u]))
        + ((shares[from_share + 4u] + shares[from_share + 5u]) + (shares[from_share + 6u] + shares[from_share + 7u]));
}

// The first 64 lanes add up over the states: d_u in place of d_y, d_delta in place of delta.
fn store_inputs(at: u32, input: vec2f, before: f32, d_out: f32, own_sums: vec2f, to: Place) {
    var sum = own_sums;
    for (var quad = 1u; quad < QUADS; quad++) {
        sum += quad_sums[to.lane + (quad - 1u) * 64u];
    }
    let d_step = LN2 * sum.x + sum.y * input.y;
    let d_before = d_step * sigmoid(before + to.dt_bias);
    d_D += d_out * input.y;
    d_dt_bias += select(0.0, d_before, to.live);
    if (to.live && p.want_inputs != 0u) {
        d_y[p.d_y_offset + at] = d_out * to.D + sum.y * input.x;
        delta[p.delta_offset + at] = d_before;
    }
}

fn coefficient(state: u32, channel: u32) -> f32 {
    if (state >= N) {
        return 0.0;
    }
    return LOG2E * coefficients[p.coefficients_offset + state * p.width + channel];
}

// Before the chunk.
fn first_state(sequence: u32, chunk: u32, to: Place) -> vec4f {
    var found = vec4f();
    for (var i = 0u; i < 4u; i++) {
        if (4u * to.quad + i < N) {
            found[i] = states[state_index(sequence, chunk, 4u * to.quad + i, to.channel)];
        }
    }
    return found;
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let unit = flat_group(group, grid);
    if (unit >= p.sequences * p.chunks * p.blocks) {
        return;
    }
    let block = unit % p.blocks;
    let chunk = (unit / p.blocks) % p.chunks;
    let sequence = unit / p.blocks / p.chunks;
    let own = block * 64u + lane % 64u;
    let channel = min(own, p.width - 1u);
    let to = Place(
        lane, channel, lane / 64u, own < p.width,
        coefficients[p.coefficients_offset + (N + 1u) * p.width + channel],
        coefficients[p.coefficients_offset + N * p.width + channel],
        p.partials_offset + block * p.sequences * p.length * 2u * N,
    );
    let first_row = 4u * to.quad;
    h = first_state(sequence, chunk, to);
    for (var i = 0u; i < 4u; i++) {
        A[i] = coefficient(first_row + i, channel);
        if (first_row + i < N) {
            G[i] = select(0.0, workspace[chunk_index(sequence, chunk, first_row + i, channel)], to.live);
        }
    }
    let begin = sequence * p.length + chunk * 64u;
    let stop = min((sequence + 1u) * p.length, begin + 64u);
    let runs = (stop - begin + RUN - 1u) / RUN;

    // The state before each run but the first, in named registers: an array that is indexed at run time would live in
    // memory.
    var kept1 = h;
    var kept2 = h;
    var kept3 = h;
    var kept4 = h;
    var kept5 = h;
    var kept6 = h;
    var kept7 = h;
    for (var run = 0u; run + 1u < runs; run++) {
        let token = begin + run * RUN;
        load_tile(token, RUN, to);
        advance(0u, to);
        advance(1u, to);
        advance(2u, to);
        advance(3u, to);
        advance(4u, to);
        advance(5u, to);
        advance(6u, to);
        advance(7u, to);
        // A queue: the newest is kept7.
        kept1 = kept2;
        kept2 = kept3;
        kept3 = kept4;
        kept4 = kept5;
        kept5 = kept6;
        kept6 = kept7;
        kept7 = h;
    }
    for (var run = runs; run > 0u; run--) {
        let token = begin + (run - 1u) * RUN;
        let count = min(RUN, stop - token);
        load_tile(token, count, to);
        if (run > 1u) {
            h = kept7;
        } else {
            h = first_state(sequence, chunk, to);
        }
        kept7 = kept6;
        kept6 = kept5;
        kept5 = kept4;
        kept4 = kept3;
        kept3 = kept2;
        kept2 = kept1;
        advance(0u, to);
        if (count > 1u) { advance(1u, to); }
        if (count > 2u) { advance(2u, to); }
        if (count > 3u) { advance(3u, to); }
        if (count > 4u) { advance(4u, to); }
        if (count > 5u) { advance(5u, to); }
        if (count > 6u) { advance(6u, to); }
        if (count > 7u) { advance(7u, to); }
        if (count > 7u) { walk(7u, token + 7u, to); }
        if (count > 6u) { walk(6u, token + 6u, to); }
        if (count > 5u) { walk(5u, token + 5u, to); }
        if (count > 4u) { walk(4u, token + 4u, to); }
        if (count > 3u) { walk(3u, token + 3u, to); }
        if (count > 2u) { walk(2u, token + 2u, to); }
        if (count > 1u) { walk(1u, token + 1u, to); }
        walk(0u, token, to);
    }
    if (to.live && p.want_coefficients != 0u) {
        for (var i = 0u; i < 4u; i++) {
            if (first_row + i < N) {
                workspace[chunk_index(sequence, chunk, first_row + i, channel)] = d_A[i];
            }
        }
        if (lane < 64u) {
            workspace[chunk_index(sequence, chunk, N, channel)] = d_D;
            workspace[chunk_index(sequence, chunk, N + 1u, channel)] = d_dt_bias;
        }
    }
}
