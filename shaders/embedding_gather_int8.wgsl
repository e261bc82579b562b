// embedding_gather from 8 bits: byte * scale.
// ids: (t); words: (rows, 8 * blocks), four bytes each; scales: (rows, blocks); y: (t, m).  One workgroup per token; a
// large table comes in blocks because a binding has a largest size.
//! lib: grid

struct Params {
    tokens: u32,
    rows: u32,
    width: u32,
    first_row: u32,
    ids_offset: u32,
    words_offset: u32,
    scales_offset: u32,
    y_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> ids: array<i32>;
@group(0) @binding(2) var<storage, read_write> words: array<i32>;
@group(0) @binding(3) var<storage, read_write> scales: array<f32>;
@group(0) @binding(4) var<storage, read_write> y: array<f32>;

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
    let blocks = (p.width + 31u) / 32u;
    for (var j = lane; j < p.width; j += 64u) {
        let byte = extractBits(words[p.words_offset + 8u * row * blocks + j / 4u], 8u * (j % 4u), 8u);
        y[p.y_offset + token * p.width + j] = f32(byte) * scales[p.scales_offset + row * blocks + j / 32u];
    }
}
