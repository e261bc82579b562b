// embedding_gather from float16, two to a word, bit for bit.
// ids: (t); table: (rows, m); y: (t, m).  One workgroup per token; a large table comes in blocks because a binding has a
// largest size.
//! lib: grid float_bits

struct Params {
    tokens: u32,
    rows: u32,
    width: u32,
    first_row: u32,
    ids_offset: u32,
    table_offset: u32,
    y_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> ids: array<i32>;
@group(0) @binding(2) var<storage, read_write> table: array<u32>;
@group(0) @binding(3) var<storage, read_write> y: array<u32>;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let token = flat_group(group, grid);
    if (token >= p.tokens) {
        return;
    }
    let row = u32(ids[p.ids_offset + token]) - p.first_row;  // an id before the block wraps round and is too large
    if (row >= p.rows) {
        return;
    }
    for (var j = lane; j < p.width; j += 64u) {
        let i = p.table_offset + row * p.width + j;
        y[p.y_offset + token * p.width + j] = float16_to_float32((table[i / 2u] >> (16u * (i % 2u))) & 0xffffu);
    }
}
