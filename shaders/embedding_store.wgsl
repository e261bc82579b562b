// table[ids[i] - first_row] = x[i] where that row is in this block of the table; no id comes twice.
// ids: (k); x: (k, m); table: (rows, m).  One workgroup per id.
//! lib: grid

struct Params {
    count: u32,
    rows: u32,
    width: u32,
    first_row: u32,
    ids_offset: u32,
    x_offset: u32,
    table_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> ids: array<i32>;
@group(0) @binding(2) var<storage, read_write> x: array<f32>;
@group(0) @binding(3) var<storage, read_write> table: array<f32>;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let place = flat_group(group, grid);
    if (place >= p.count) {
        return;
    }
    let row = u32(ids[p.ids_offset + place]) - p.first_row;  // an id before the block wraps round and is too large
    if (row >= p.rows) {
        return;
    }
    for (var j = lane; j < p.width; j += 64u) {
        table[p.table_offset + row * p.width + j] = x[p.x_offset + place * p.width + j];
    }
}
