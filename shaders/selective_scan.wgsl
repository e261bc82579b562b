// The selective scan, one lane per (sequence, channel): 64 channels of one sequence a workgroup, tokens in order.
// No work is done twice and nothing waits for a neighbour, so this is the choice wherever b*d lanes fill the device.
// Shapes and bindings: lib/scan_forward.wgsl.
//! lib: grid activation scan_forward scan_lane scan_state

@compute @workgroup_size(64)
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
    let own = (pair % p.blocks) * 64u + lane;
    // Lanes beyond the width repeat the last channel and store nothing: they are needed at the barriers.
    let channel = min(own, p.width - 1u);
    let live = own < p.width;
    load_A(channel);
    let D = coefficients[p.coefficients_offset + N * p.width + channel];
    let dt_bias = coefficients[p.coefficients_offset + (N + 1u) * p.width + channel];
    if (p.carry != 0u) {
        read_state(sequence, 0u, channel);
    }

    for (var chunk = 0u; chunk < p.chunks; chunk++) {
        if (live) {
            write_state(sequence, chunk, channel);
        }
        let stop = min(p.length, (chunk + 1u) * 64u);
        for (var start = chunk * 64u; start < stop; start += TILE) {
            let count = min(TILE, stop - start);
            load_tile(sequence * p.length + start, count, lane);
            for (var k = 0u; k < count; k++) {
                let at = (sequence * p.length + start + k) * p.width + channel;
                let x = u[p.u_offset + at];
                let step = softplus(delta[p.delta_offset + at] + dt_bias);
                let sum = advance(step, step * x, k * 2u * QUADS);
                if (live) {
                    y[p.y_offset + at] = sum + D * x;
                }
            }
        }
    }
    if (live) {
        write_state(sequence, p.chunks, channel);
    }
}
