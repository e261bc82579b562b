// Backward of the selective scan for software adapters: one lane per (sequence, four channels), 16 lanes and 64 channels
// a workgroup. Why four: see selective_scan_wide.wgsl; here the sums over channels shrink to a quarter too.
// A dispatch takes a range of chunks, since llvmpipe ends all loops of a lane after 65,535 turns: it leaves G in the slot
// of `states` that it has used up, and its sums over tokens in `partials`, for the next one to continue from.
// Equations, shapes and bindings: lib/scan_backward.wgsl.
//! lib: activation scan_backward

// w of 64 tokens, a strip for each workgroup.
@group(0) @binding(8) var<storage, read_write> workspace: array<vec4f>;

const LOG2E = 1.4426950408889634;
const VALUES = 2u * N;  // d_B, then d_C
const BATCH = max(1u, 64u / N);  // tokens summed at a time: a barrier costs as much as dozens of loads

var<private> A: array<vec4f, N>;  // one channel a component
var<private> G: array<vec4f, N>;
var<private> d_A: array<vec4f, N>;
var<workgroup> shares: array<f32, BATCH * VALUES * 16u>;  // 8 KiB for up to 64 states, at most 16 KiB for 128

fn coefficient(row: u32, channel: vec4u) -> vec4f {
    let at = p.coefficients_offset + row * p.width + channel;
    return vec4f(coefficients[at.x], coefficients[at.y], coefficients[at.z], coefficients[at.w]);
}

fn softplus4(x: vec4f) -> vec4f {
    return vec4f(softplus(x.x), softplus(x.y), softplus(x.z), softplus(x.w));
}

fn sigmoid4(x: vec4f) -> vec4f {
    return vec4f(sigmoid(x.x), sigmoid(x.y), sigmoid(x.z), sigmoid(x.w));
}

fn load_u(at: vec4u) -> vec4f {
    let i = p.u_offset + at;
    return vec4f(u[i.x], u[i.y], u[i.z], u[i.w]);
}

fn load_delta(at: vec4u) -> vec4f {
    let i = p.delta_offset + at;
    return vec4f(delta[i.x], delta[i.y], delta[i.z], delta[i.w]);
}

fn store_d_coefficients(sequence: u32, row: u32, channel: vec4u, live: vec4<bool>, value: vec4f) {
    let at = d_coefficient_index(sequence, row, 0u) + channel;
    if (live.x) { partials[at.x] = value.x; }
    if (live.y) { partials[at.y] = value.y; }
    if (live.z) { partials[at.z] = value.z; }
    if (live.w) { partials[at.w] = value.w; }
}

fn load_d_coefficients(sequence: u32, row: u32, channel: vec4u) -> vec4f {
    let at = d_coefficient_index(sequence, row, 0u) + channel;
    return vec4f(partials[at.x], partials[at.y], partials[at.z], partials[at.w]);
}

// Leaves w = a * h of the tokens begin..stop-1 in the strip.
fn rerun(sequence: u32, slot: u32, begin: u32, stop: u32, channel: vec4u, dt_bias: vec4f, strip: u32) {
    var h: array<vec4f, N>;
    for (var n = 0u; n < N; n++) {
        let at = state_index(sequence, slot, n, 0u) + channel;
        h[n] = vec4f(states[at.x], states[at.y], states[at.z], states[at.w]);
    }
    for (var t = begin; t < stop; t++) {
        let at = t * p.width + channel;
        let step = softplus4(load_delta(at) + dt_bias);
        let drive = step * load_u(at);
        let B_at = p.x_dbl_offset + t * p.row + p.rank;
        for (var n = 0u; n < N; n++) {
            let w = exp2(step * A[n]) * h[n];
            workspace[strip + ((t - begin) * N + n) * 16u] = w;
            h[n] = w + drive * x_dbl[B_at + n];
        }
    }
}

// Sums of d_B and d_C over the 64 channels, for `tokens` tokens, to `partials` from `at`.
fn sum_shares(at: u32, tokens: u32, lane: u32) {
    for (var value = lane; value < tokens * VALUES; value += 16u) {
        var sum = 0.0;
        for (var share = value * 16u; share < value * 16u + 16u; share += 4u) {
            sum += (shares[share] + shares[share + 1u]) + (shares[share + 2u] + shares[share + 3u]);
        }
        partials[at + value] = sum;
    }
}

fn walk_pair(sequence: u32, block: u32, strip: u32, lane: u32) {
    let own = block * 64u + lane + vec4u(0u, 16u, 32u, 48u);
    let channel = min(own, vec4u(p.width - 1u));
    let live = own < vec4u(p.width);
    for (var n = 0u; n < N; n++) {
        A[n] = LOG2E * coefficient(n, channel);
        G[n] = vec4f();
        d_A[n] = vec4f();
    }
    let D = coefficient(N, channel);
    let dt_bias = coefficient(N + 1u, channel);
    var d_D = vec4f();
    var d_dt_bias = vec4f();
    if (p.last_chunk < p.chunks) {
        for (var n = 0u; n < N; n++) {
            let at = state_index(sequence, p.last_chunk, n, 0u) + channel;
            G[n] = select(vec4f(), vec4f(states[at.x], states[at.y], states[at.z], states[at.w]), live);
        }
        if (p.want_coefficients != 0u) {
            for (var n = 0u; n < N; n++) {
                d_A[n] = load_d_coefficients(sequence, n, channel);
            }
            d_D = load_d_coefficients(sequence, N, channel);
            d_dt_bias = load_d_coefficients(sequence, N + 1u, channel);
        }
    }

    for (var chunk = p.last_chunk; chunk > p.first_chunk; chunk--) {
        let begin = sequence * p.length + (chunk - 1u) * 64u;
        let stop = min((sequence + 1u) * p.length, begin + 64u);
        rerun(sequence, chunk - 1u, begin, stop, channel, dt_bias, strip);
        for (var t = stop - 1u; t + 1u > begin; t--) {
            let at = t * p.width + channel;
            let x = load_u(at);
            let before = load_delta(at) + dt_bias;
            let step = softplus4(before);
            let drive = step * x;
            let d_y_at = p.d_y_offset + at;
            // Channels beyond the width repeat the last one with d_y = 0, so they add nothing.
            let d_out = select(vec4f(), vec4f(d_y[d_y_at.x], d_y[d_y_at.y], d_y[d_y_at.z], d_y[d_y_at.w]), live);
            let B_at = p.x_dbl_offset + t * p.row + p.rank;
            var q_A = vec4f();
            var s = vec4f();
            let share = (t - begin) % BATCH * VALUES * 16u + lane;
            for (var n = 0u; n < N; n++) {
                let B = x_dbl[B_at + n];
                let w = workspace[strip + ((t - begin) * N + n) * 16u];
                let dh = d_out * x_dbl[B_at + N + n] + G[n];
                let dh_w = dh * w;
                d_A[n] += step * dh_w;
                q_A += dh_w * A[n];
                s += dh * B;
                G[n] = exp2(step * A[n]) * dh;
                shares[share + n * 16u] = dot(drive, dh);
                shares[share + (N + n) * 16u] = dot(d_out, w + drive * B);
            }
            if ((t - begin) % BATCH == 0u) {
                workgroupBarrier();
                let partial = p.partials_offset + (block * p.sequences * p.length + t) * VALUES;
                sum_shares(partial, min(BATCH, stop - t), lane);
                workgroupBarrier();
            }
            let d_before = (LN2 * q_A + s * x) * sigmoid4(before);
            d_D += d_out * x;
            d_dt_bias += d_before;
            if (p.want_inputs != 0u) {
                let d_u = d_out * D + s * step;
                let delta_at = p.delta_offset + at;
                if (live.x) { d_y[d_y_at.x] = d_u.x; delta[delta_at.x] = d_before.x; }
                if (live.y) { d_y[d_y_at.y] = d_u.y; delta[delta_at.y] = d_before.y; }
                if (live.z) { d_y[d_y_at.z] = d_u.z; delta[delta_at.z] = d_before.z; }
                if (live.w) { d_y[d_y_at.w] = d_u.w; delta[delta_at.w] = d_before.w; }
            }
        }
    }
    if (p.first_chunk > 0u) {
        for (var n = 0u; n < N; n++) {
            let at = state_index(sequence, p.first_chunk, n, 0u) + channel;
            if (live.x) { states[at.x] = G[n].x; }
            if (live.y) { states[at.y] = G[n].y; }
            if (live.z) { states[at.z] = G[n].z; }
            if (live.w) { states[at.w] = G[n].w; }
        }
    }
    if (p.want_coefficients != 0u) {
        for (var n = 0u; n < N; n++) {
            store_d_coefficients(sequence, n, channel, live, d_A[n]);
        }
        store_d_coefficients(sequence, N, channel, live, d_D);
        store_d_coefficients(sequence, N + 1u, channel, live, d_dt_bias);
    }
}

@compute @workgroup_size(16)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let strip = p.workspace_offset + group.x * 64u * N * 16u + lane;
    for (var pair = group.x; pair < p.sequences * p.blocks; pair += grid.x) {
        walk_pair(pair / p.blocks, pair % p.blocks, strip, lane);
    }
}
