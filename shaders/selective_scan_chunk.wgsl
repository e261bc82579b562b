// Chunked scan, first of three phases: every 64 tokens from a zero state, all chunks at once.
// For few channels and long sequences: b*d*l/64 lanes instead of b*d, at twice the work.  One lane per (sequence, chunk,
// channel). Leaves the local end state in slot chunk+1 of `states` and the sum of Delta in `workspace` (b, chunks, d):
// the decay of a whole chunk is exp(A * that sum), so no products of decays need be kept.
//! lib: grid activation scan_forward scan_lane scan_state

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let unit = flat_group(group, grid);
    if (unit >= p.sequences * p.chunks * p.blocks) {
        return;
    }
    let chunk = (unit / p.blocks) % p.chunks;
    let sequence = unit / p.blocks / p.chunks;
    let own = (unit % p.blocks) * 64u + lane;
    let channel = min(own, p.width - 1u);
    load_A(channel);
    let dt_bias = coefficients[p.coefficients_offset + (N + 1u) * p.width + channel];

    var steps = 0.0;
    let stop = min(p.length, (chunk + 1u) * 64u);
    for (var start = chunk * 64u; start < stop; start += TILE) {
        let count = min(TILE, stop - start);
        load_tile(sequence * p.length + start, count, lane);
        for (var k = 0u; k < count; k++) {
            let at = (sequence * p.length + start + k) * p.width + channel;
            let step = softplus(delta[p.delta_offset + at] + dt_bias);
            steps += step;
            // Its sum over the states is not wanted yet.
            _ = advance(step, step * u[p.u_offset + at], k * 2u * QUADS);
        }
    }
    if (own < p.width) {
        write_state(sequence, chunk + 1u, channel);
        workspace[p.workspace_offset + (sequence * p.chunks + chunk) * p.width + channel] = steps;
    }
}
