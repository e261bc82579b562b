// Chunked backward of the selective scan, second phase: carries G back over the chunks; one lane per (sequence, state,
// channel).  In the workspace, G at the end of a chunk takes the place of what the chunk alone gives.
// Shapes: lib/scan_backward.wgsl, lib/scan_backward_chunks.wgsl.
//! lib: grid scan_backward scan_backward_chunks

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let unit = flat_group(group, grid);
    let channel = (unit % p.blocks) * 64u + lane;
    let n = (unit / p.blocks) % N;
    let sequence = unit / p.blocks / N;
    if (sequence >= p.sequences || channel >= p.width) {
        return;
    }
    let A = coefficients[p.coefficients_offset + n * p.width + channel];
    var G = 0.0;
    for (var chunk = p.chunks; chunk > 0u; chunk--) {
        let at = chunk_index(sequence, chunk - 1u, n, channel);
        let steps = workspace[chunk_index(sequence, chunk - 1u, N, channel)];
        let before = exp(A * steps) * G + workspace[at];
        workspace[at] = G;
        G = before;
    }
}
