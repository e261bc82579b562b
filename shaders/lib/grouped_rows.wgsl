// Which tile of which expert's rows a workgroup computes: the tiles of all experts are numbered one after another, and an
// expert has as many as its rows need.  There are at most rows / 32 + experts of them; the workgroups past the last one
// have nothing to do.

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let flat = flat_group(group, grid);
    var tile = flat / p.tiles_across;
    var expert = 0u;
    var rows = 0u;
    for (; expert < p.experts; expert++) {
        rows = start_of(expert + 1u) - start_of(expert);
        let tiles = (rows + 31u) / 32u;
        if (tile < tiles) {
            break;
        }
        tile -= tiles;
    }
    // An empty product instead of leaving before a barrier.
    let first = start_of(expert);
    var own = Group(rows, p.k, p.a_offset + first * p.a_row, 0u, p.c_offset + first * p.c_row);
    own.b = p.b_offset + expert * p.n * p.k;
    if (expert >= p.experts) {
        own = Group(0u, 0u, 0u, 0u, 0u);
    }
    grouped_tile(own, tile * 32u, flat % p.tiles_across * 32u, lane);
}
