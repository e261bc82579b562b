// The selective scan for software adapters: one lane per (sequence, four channels), 16 lanes and 64 channels a workgroup.
// There a load costs far more than an exp (every lane fetches for itself, behind a bounds check), and B and C are the
// same for all channels: four channels a lane quarter those loads.  Hardware wants the lanes instead, see
// selective_scan.wgsl.  A dispatch takes a range of chunks, since llvmpipe ends all loops of a lane after 65,535 turns;
// the next one continues from the state that this one leaves.
//! lib: grid activation scan_forward

const LOG2E = 1.4426950408889634;

// Channels of this lane: first, first+16, first+32, first+48.  Beyond the width the last channel is read again, and
// nothing stored.
fn channels(first: u32) -> vec4u {
    return min(first + vec4u(0u, 16u, 32u, 48u), vec4u(p.width - 1u));
}

fn coefficient(row: u32, channel: vec4u) -> vec4f {
    let at = p.coefficients_offset + row * p.width + channel;
    return vec4f(coefficients[at.x], coefficients[at.y], coefficients[at.z], coefficients[at.w]);
}

@compute @workgroup_size(16)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let pair = flat_group(group, grid);
    if (pair >= p.sequences * p.blocks) {
        return;
    }
    let sequence = pair / p.blocks;
    let first = (pair % p.blocks) * 64u + lane;
    let channel = channels(first);
    let live = first + vec4u(0u, 16u, 32u, 48u) < vec4u(p.width);
    var A: array<vec4f, N>;
    var h: array<vec4f, N>;
    for (var n = 0u; n < N; n++) {
        A[n] = LOG2E * coefficient(n, channel);
        if (p.carry != 0u || p.first_chunk > 0u) {
            let at = state_index(sequence, p.first_chunk, n, 0u) + channel;
            h[n] = vec4f(states[at.x], states[at.y], states[at.z], states[at.w]);
        }
    }
    let D = coefficient(N, channel);
    let dt_bias = coefficient(N + 1u, channel);

    for (var chunk = p.first_chunk; chunk <= p.last_chunk; chunk++) {
        for (var n = 0u; n < N; n++) {
            let at = state_index(sequence, chunk, n, 0u) + channel;
            if (live.x) { states[at.x] = h[n].x; }
            if (live.y) { states[at.y] = h[n].y; }
            if (live.z) { states[at.z] = h[n].z; }
            if (live.w) { states[at.w] = h[n].w; }
        }
        let stop = min(p.length, min(p.last_chunk, chunk + 1u) * 64u);
        for (var t = chunk * 64u; t < stop; t++) {
            let token = sequence * p.length + t;
            let at = token * p.width + channel;
            let u_at = p.u_offset + at;
            let delta_at = p.delta_offset + at;
            let x = vec4f(u[u_at.x], u[u_at.y], u[u_at.z], u[u_at.w]);
            let before = vec4f(delta[delta_at.x], delta[delta_at.y], delta[delta_at.z], delta[delta_at.w]) + dt_bias;
            let step = vec4f(softplus(before.x), softplus(before.y), softplus(before.z), softplus(before.w));
            let drive = step * x;
            let B_at = p.x_dbl_offset + token * p.row + p.rank;
            let C_at = B_at + N;
            var sum = D * x;
            for (var n = 0u; n < N; n++) {
                h[n] = exp2(step * A[n]) * h[n] + drive * x_dbl[B_at + n];
                sum += h[n] * x_dbl[C_at + n];
            }
            let y_at = p.y_offset + at;
            if (live.x) { y[y_at.x] = sum.x; }
            if (live.y) { y[y_at.y] = sum.y; }
            if (live.z) { y[y_at.z] = sum.z; }
            if (live.w) { y[y_at.w] = sum.w; }
        }
    }
}
