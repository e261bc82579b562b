// Chunked scan, second phase: carries the state over the chunks, in order; one lane per (sequence, state, channel).
// states[c+1] = exp(A * sum of Delta of chunk c) * states[c] + the local end state that phase one left there.
//! lib: grid scan_forward

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
    var state = 0.0;
    if (p.carry != 0u) {
        state = states[state_index(sequence, 0u, n, channel)];
    } else {
        states[state_index(sequence, 0u, n, channel)] = 0.0;
    }
    for (var chunk = 0u; chunk < p.chunks; chunk++) {
        let at = state_index(sequence, chunk + 1u, n, channel);
        let steps = workspace[p.workspace_offset + (sequence * p.chunks + chunk) * p.width + channel];
        state = exp(A * steps) * state + states[at];
        states[at] = state;
    }
}
