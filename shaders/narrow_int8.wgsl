// Rows of x in 8 bits: a scale for each 32, words of four bytes, lowest first, 0 past the end of a row.
// x: (rows, k); words: (rows, 8 * blocks); scales: (rows, blocks).  One lane per block.
//! lib: grid

struct Params {
    rows: u32,
    width: u32,
    blocks: u32,
    x_offset: u32,
    words_offset: u32,
    scales_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> words: array<u32>;
@group(0) @binding(3) var<storage, read_write> scales: array<f32>;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let block = flat_group(group, grid) * 64u + lane;
    if (block >= p.rows * p.blocks) {
        return;
    }
    let row = block / p.blocks;
    let first = block % p.blocks * 32u;
    let count = min(32u, p.width - first);
    let begin = p.x_offset + row * p.width + first;
    var largest = 0.0;
    for (var i = 0u; i < count; i++) {
        largest = max(largest, abs(x[begin + i]));
    }
    let scale = largest / 127.0;
    let inverse = select(0.0, 1.0 / scale, scale > 0.0);
    scales[p.scales_offset + block] = scale;
    for (var word = 0u; word < 8u; word++) {
        var packed = 0u;
        for (var byte = 0u; byte < 4u; byte++) {
            let i = 4u * word + byte;
            if (i < count) {
                packed |= (u32(i32(round(x[begin + i] * inverse))) & 0xffu) << (8u * byte);
            }
        }
        words[p.words_offset + 8u * block + word] = packed;
    }
}
