// Chunked backward of the selective scan, last phase: d_A, d_D and d_dt_bias of a sequence from those of its chunks, in
// their order.  One lane per (sequence, row of coefficients, channel).
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
    let row = (unit / p.blocks) % (N + 2u);
    let sequence = unit / p.blocks / (N + 2u);
    if (sequence >= p.sequences || channel >= p.width) {
        return;
    }
    var sum = 0.0;
    for (var chunk = 0u; chunk < p.chunks; chunk++) {
        sum += workspace[chunk_index(sequence, chunk, row, channel)];
    }
    partials[d_coefficient_index(sequence, row, channel)] = sum;
}
