// In place: each pair (j, j + head_dim / 2) of a head rotated by an angle of its token's position.
// x: (t, width), heads side by side; reach: (t, 3), the position first; rotations: (positions, head_dim), cosines and
// then sines, from a table: WGSL promises nothing of sin and cos beyond pi.  One lane per pair.
//! lib: grid

struct Params {
    pairs: u32,  // of all tokens
    width: u32,
    head_dim: u32,
    sign: f32,
    x_offset: u32,
    reach_offset: u32,
    rotations_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> reach: array<u32>;
@group(0) @binding(3) var<storage, read_write> rotations: array<f32>;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let pair = flat_group(group, grid) * 64u + lane;
    if (pair >= p.pairs) {
        return;
    }
    let half = p.head_dim / 2u;
    let of_token = p.width / 2u;
    let token = pair / of_token;
    let head = pair % of_token / half;
    let j = pair % half;
    let angle = p.rotations_offset + reach[p.reach_offset + 3u * token] * p.head_dim + j;
    let c = rotations[angle];
    let s = rotations[angle + half] * p.sign;
    let at = p.x_offset + token * p.width + head * p.head_dim + j;
    let low = x[at];
    let high = x[at + half];
    x[at] = low * c - high * s;
    x[at + half] = high * c + low * s;
}
