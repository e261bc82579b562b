// y = byte * scale.  words: (rows, 8 * blocks), four bytes each; scales: (rows, blocks); y: (rows, k).  One lane per block
// of 32.
//! lib: grid

struct Params {
    rows: u32,
    width: u32,
    blocks: u32,
    words_offset: u32,
    scales_offset: u32,
    y_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> words: array<i32>;
@group(0) @binding(2) var<storage, read_write> scales: array<f32>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;

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
    let first = block % p.blocks * 32u;
    let begin = p.y_offset + block / p.blocks * p.width + first;
    let scale = scales[p.scales_offset + block];
    for (var i = 0u; i < min(32u, p.width - first); i++) {
        let byte = extractBits(words[p.words_offset + 8u * block + i / 4u], 8u * (i % 4u), 8u);
        y[begin + i] = f32(byte) * scale;
    }
}
