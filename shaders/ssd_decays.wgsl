// What has decayed from the start of each chunk of 64 tokens up to each token, as `decay` of lib/ssd.wgsl takes it:
// (t, h, 2) at the front of the workspace.  One lane per (chunk, head): neighbours read and write next to each other.
// A lane reads a few tokens ahead, since no load goes past a store that may be to the same place.
//! lib: grid ssd

const AHEAD = 8u;
const LOG2E = 1.4426950408889634;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let unit = flat_group(group, grid) * 64u + lane;
    if (unit >= p.sequences * p.chunks * p.heads) {
        return;
    }
    let head = unit % p.heads;
    let chunk = unit / p.heads;
    let first = first_token(chunk);
    var counted = 0u;
    var rough = 0.0;
    let count = tokens_of(chunk);
    for (var start = 0u; start < count; start += AHEAD) {
        var logarithms: array<f32, AHEAD>;
        for (var q = 0u; q < AHEAD; q++) {
            let token = first + min(start + q, count - 1u);
            logarithms[q] = steps[p.steps_offset + (token * 2u + 1u) * p.heads + head];
        }
        for (var q = 0u; q < AHEAD; q++) {
            if (start + q < count) {
                // Past 2^-127 nothing is left; a rough sum of larger steps would be too rough.
                let step = min(-LOG2E * logarithms[q], 127.0);
                counted += u32(round(step * FRACTION));
                rough += step;
                let at = p.decayed_at + 2u * ((first + start + q) * p.heads + head);
                workspace[at] = counted;
                workspace[at + 1u] = bitcast<u32>(rough);
            }
        }
    }
}
