// Chunked backward of the selective scan, first of four phases: G before every 64 tokens if it were zero behind them, and
// the sum of Delta, for all chunks at once.  One lane per (sequence, chunk, channel).
// Shapes: lib/scan_backward.wgsl, lib/scan_backward_chunks.wgsl.
//! lib: grid activation scan_backward scan_backward_chunks scan_lane

fn back_quad(q: u32, step: f32, d_out: f32, at: u32) {
    if (q < QUADS) {
        h[q] = exp2(step * A[q]) * (d_out * tile[at + QUADS + q] + h[q]);
    }
}

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
    let begin = chunk * 64u;
    let stop = min(p.length, begin + 64u);
    for (var left = (stop - begin + TILE - 1u) / TILE; left > 0u; left--) {
        let start = begin + (left - 1u) * TILE;
        let count = min(TILE, stop - start);
        load_tile(sequence * p.length + start, count, lane);
        for (var k = count; k > 0u; k--) {
            let at = (sequence * p.length + start + k - 1u) * p.width + channel;
            let step = softplus(delta[p.delta_offset + at] + dt_bias);
            let d_out = d_y[p.d_y_offset + at];
            let place = (k - 1u) * 2u * QUADS;
            steps += step;
            // By constant indices, as in scan_lane; this variant takes at most 16 states.
            back_quad(0u, step, d_out, place);
            back_quad(1u, step, d_out, place);
            back_quad(2u, step, d_out, place);
            back_quad(3u, step, d_out, place);
        }
    }
    if (own < p.width) {
        for (var n = 0u; n < N; n++) {
            workspace[chunk_index(sequence, chunk, n, channel)] = h[n / 4u][n % 4u];
        }
        workspace[chunk_index(sequence, chunk, N, channel)] = steps;
    }
}
