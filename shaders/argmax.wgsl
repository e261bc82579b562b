// best[i] = the lowest index of the largest in row i.  logits: (rows, v); best: (rows).  One workgroup per row.
//! lib: grid best

const LANES = 256u;
const ROOT = 16u;

struct Params {
    rows: u32,
    width: u32,
    logits_offset: u32,
    best_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> logits: array<f32>;
@group(0) @binding(2) var<storage, read_write> best: array<i32>;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let row = flat_group(group, grid);
    if (row >= p.rows) {
        return;
    }
    var own = NOTHING;
    for (var j = lane; j < p.width; j += LANES) {
        own = better(Best(logits[p.logits_offset + row * p.width + j], j), own);
    }
    let found = best_over_lanes(own, lane);
    if (lane == 0u) {
        best[p.best_offset + row] = i32(select(found.index, 0u, found.index >= p.width));
    }
}
