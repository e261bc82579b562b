// cache[reach[i, 2] - 1] = x[i] as float16, to the nearest, ties to even.
// x: (t, width), width even; reach: (t, 3); cache: rows of width / 2 words.  One lane per word.
//! lib: grid float_bits

struct Params {
    words: u32,  // of all tokens
    width: u32,
    x_offset: u32,
    reach_offset: u32,
    cache_offset: u32,  // in words
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> x: array<u32>;
@group(0) @binding(2) var<storage, read_write> reach: array<u32>;
@group(0) @binding(3) var<storage, read_write> cache: array<u32>;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let word = flat_group(group, grid) * 64u + lane;
    if (word >= p.words) {
        return;
    }
    let of_row = p.width / 2u;
    let token = word / of_row;
    let from_word = p.x_offset + 2u * word;
    let row = reach[p.reach_offset + 3u * token + 2u] - 1u;
    cache[p.cache_offset + row * of_row + word % of_row] =
        float32_to_float16(x[from_word]) | (float32_to_float16(x[from_word + 1u]) << 16u);
}
