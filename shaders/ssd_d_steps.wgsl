// d_steps (t, 3h) from the sums that ssd_mix and ssd_states leave in the workspace: the gradients of Delta where it
// stands alone, of the logarithm Delta * A of a token's decay, and of D, token by token.
//
// A token's decay acts on all that passes from the tokens before it to it and those behind: the gradient of its
// logarithm is what those behind get in their chunk, minus what they give there, plus what leaves the chunk (the
// overlap of the state behind it with that state's gradient).  What a token gives to itself would be in both sums, and
// is in neither.
// One lane per (chunk, head): neighbours read and write next to each other.  It reads a few tokens ahead, as in
// ssd_decays.wgsl.
//! lib: grid ssd

const AHEAD = 8u;

fn row_sum(kind: u32, tiles: u32, token: u32, head: u32) -> f32 {
    var sum = 0.0;
    for (var tile = 0u; tile < tiles; tile++) {
        let row = (kind * tiles + tile) * p.sequences * p.length + token;
        sum += bitcast<f32>(workspace[p.rows_at + row * p.heads + head]);
    }
    return sum;
}

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) place: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let unit = flat_group(place, grid) * 64u + lane;
    if (unit >= p.sequences * p.chunks * p.heads) {
        return;
    }
    let head = unit % p.heads;
    let chunk = unit / p.heads;
    let group = head / (p.heads / p.groups);
    let first = first_token(chunk);
    let count = tokens_of(chunk);
    let across = (p.head_dim + 31u) / 32u;
    let tiles = (p.state_size + 63u) / 64u * across;
    let scores = p.scores_at + (chunk * p.groups + group) * CHUNK * CHUNK;
    var passing = 0.0;
    for (var tile = 0u; tile < tiles; tile++) {
        passing += bitcast<f32>(workspace[p.overlaps_at + unit * tiles + tile]);
    }
    for (var done = 0u; done < count; done += AHEAD) {
        var balance: array<f32, AHEAD>;
        var d_Delta: array<f32, AHEAD>;
        var skip: array<f32, AHEAD>;
        for (var q = 0u; q < AHEAD; q++) {
            let i = count - 1u - min(done + q, count - 1u);  // from the last token to the first
            let token = first + i;
            let given = row_sum(1u, across, token, head);
            skip[q] = row_sum(2u, across, token, head);
            d_Delta[q] = given + bitcast<f32>(workspace[scores + i * CHUNK + i]) * skip[q];
            balance[q] = row_sum(0u, across, token, head) - steps[p.steps_offset + token * 2u * p.heads + head] * given;
        }
        for (var q = 0u; q < AHEAD; q++) {
            if (done + q < count) {
                let at = p.d_steps_offset + (first + count - 1u - done - q) * 3u * p.heads + head;
                passing += balance[q];
                d_steps[at] = d_Delta[q];
                d_steps[at + p.heads] = passing;
                d_steps[at + 2u * p.heads] = skip[q];
            }
        }
    }
}
