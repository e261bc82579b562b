// Chunked scan, third phase: every 64 tokens again, now from the true state before them, to emit y.
// One lane per (sequence, chunk, channel), as in selective_scan_chunk.
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
    let D = coefficients[p.coefficients_offset + N * p.width + channel];
    let dt_bias = coefficients[p.coefficients_offset + (N + 1u) * p.width + channel];
    read_state(sequence, chunk, channel);

    let stop = min(p.length, (chunk + 1u) * 64u);
    for (var start = chunk * 64u; start < stop; start += TILE) {
        let count = min(TILE, stop - start);
        load_tile(sequence * p.length + start, count, lane);
        for (var k = 0u; k < count; k++) {
            let at = (sequence * p.length + start + k) * p.width + channel;
            let x = u[p.u_offset + at];
            let step = softplus(delta[p.delta_offset + at] + dt_bias);
            let sum = advance(step, step * x, k * 2u * QUADS);
            if (own < p.width) {
                y[p.y_offset + at] = sum + D * x;
            }
        }
    }
}
