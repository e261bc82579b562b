//! lib: grid grouped_tile
// c[expert] (i, j) (+)= alpha * a (its rows, i)^T @ b (its rows, j) (lib/grouped_tile.wgsl): every expert has the same
// tiles, and its rows are the terms of the sums.

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let flat = flat_group(group, grid);
    let tile = flat / p.tiles_across;
    let own_tiles = p.tiles / p.experts;
    let expert = min(tile / own_tiles, p.experts);
    let first = start_of(min(expert, p.experts - 1u));
    var own = Group(p.m, start_of(min(expert + 1u, p.experts)) - first, 0u, 0u, p.c_offset + expert * p.m * p.c_row);
    own.a = p.a_offset + first * p.a_step;
    own.b = p.b_offset + first * p.b_step;
    if (expert >= p.experts) {
        own = Group(0u, 0u, 0u, 0u, 0u);
    }
    grouped_tile(own, tile % own_tiles * 32u, flat % p.tiles_across * 32u, lane);
}
