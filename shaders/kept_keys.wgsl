// What attention needs of one token: the heads of q and k rotated in place, and k and v in the cache as float16, to the
// nearest, ties to even.
// q: (1, q_width), k and v: (1, width), heads side by side; reach: (1, 3), the position first and past the last key last;
// rotations: (positions, head_dim), cosines and then sines; keys, values: rows of width / 2 words.
// A lane for each pair of q, then one for each two pairs of k that are neighbours and make two words, then one for each
// word of v.
//! lib: grid float_bits

struct Params {
    head_dim: u32,
    q_width: u32,
    width: u32,
    q_offset: u32,
    k_offset: u32,
    v_offset: u32,
    reach_offset: u32,
    rotations_offset: u32,
    keys_offset: u32,  // in words
    values_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> q: array<f32>;
@group(0) @binding(2) var<storage, read_write> k: array<f32>;
@group(0) @binding(3) var<storage, read_write> v: array<f32>;
@group(0) @binding(4) var<storage, read_write> reach: array<u32>;
@group(0) @binding(5) var<storage, read_write> rotations: array<f32>;
@group(0) @binding(6) var<storage, read_write> keys: array<u32>;
@group(0) @binding(7) var<storage, read_write> values: array<u32>;

// The j-th pair of a head, rotated.
fn rotated(low: f32, high: f32, j: u32) -> vec2f {
    let angle = p.rotations_offset + reach[p.reach_offset] * p.head_dim + j;
    let c = rotations[angle];
    let s = rotations[angle + p.head_dim / 2u];
    return vec2f(low * c - high * s, high * c + low * s);
}

fn word_of(first: f32, second: f32) -> u32 {
    return float32_to_float16(bitcast<u32>(first)) | (float32_to_float16(bitcast<u32>(second)) << 16u);
}

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let number = flat_group(group, grid) * 64u + lane;
    let of_q = p.q_width / 2u;
    let of_k = p.width / 4u;
    let half = p.head_dim / 2u;
    let row = (reach[p.reach_offset + 2u] - 1u) * p.width / 2u;
    if (number < of_q) {
        let at = p.q_offset + number / half * p.head_dim + number % half;
        let pair = rotated(q[at], q[at + half], number % half);
        q[at] = pair.x;
        q[at + half] = pair.y;
    } else if (number < of_q + of_k) {
        let first = 2u * (number - of_q);
        let channel = first / half * p.head_dim + first % half;
        let at = p.k_offset + channel;
        let one = rotated(k[at], k[at + half], first % half);
        let other = rotated(k[at + 1u], k[at + 1u + half], first % half + 1u);
        k[at] = one.x;
        k[at + half] = one.y;
        k[at + 1u] = other.x;
        k[at + 1u + half] = other.y;
        let word = p.keys_offset + row + channel / 2u;
        keys[word] = word_of(one.x, other.x);
        keys[word + half / 2u] = word_of(one.y, other.y);
    } else if (number < of_q + of_k + p.width / 2u) {
        let word = number - of_q - of_k;
        let at = p.v_offset + 2u * word;
        values[p.values_offset + row + word] = word_of(v[at], v[at + 1u]);
    }
}
