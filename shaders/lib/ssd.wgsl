// Parameters, the bindings that are never read by fours, and the decay of the shaders of Mamba-2's scan (SSD).
//
//   h_t = exp(Delta_t * A) * h_{t-1} + Delta_t * B_t x_t^T       per head: a state (n, e), A a number
//   y_t = C_t^T h_t + D * x_t                                   B, C shared by the heads of a group
//
// In chunks of 64 tokens that is matrix products.  With L_ij the decay after token j up to token i, i > j:
//
//   y_i = sum over j < i of (C_i B_j) L_ij Delta_j x_j + (decay up to i) C_i^T h before the chunk
//         + (D + C_i B_i Delta_i) x_i
//   h after = (decay of the chunk) h before + sum over j of (decay after j) Delta_j B_j x_j^T
//
// x: (t, row), a row being h*e channels, then B (g*n), then C (g*n); steps: (t, 2h), Delta and Delta * A; coefficients:
// (3, h), of which row 1 is D; states: (b, chunks+1, h*n, e), the state before each 64 tokens and the final one.
//
// The workspace, in words: what has decayed up to each token (t, h, 2), as `decay` takes it; at scores_at C_i B_j of
// each chunk and group (64, 64); then what the backward needs, see its shaders.

struct Params {
    sequences: u32,
    length: u32,
    chunks: u32,  // of 64 tokens
    heads: u32,
    head_dim: u32,
    groups: u32,
    state_size: u32,
    row: u32,
    score_parts: u32,  // of the heads of a group, in ssd_d_scores
    projection_parts: u32,  // and in ssd_d_projections
    carry: u32,
    x_offset: u32,
    steps_offset: u32,
    coefficients_offset: u32,
    states_offset: u32,
    d_y_offset: u32,
    result_offset: u32,
    d_steps_offset: u32,
    decayed_at: u32,
    scores_at: u32,
    d_scores_at: u32,
    rows_at: u32,
    overlaps_at: u32,
    projections_at: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(2) var<storage, read_write> steps: array<f32>;
@group(0) @binding(3) var<storage, read_write> coefficients: array<f32>;
@group(0) @binding(7) var<storage, read_write> d_steps: array<f32>;
@group(0) @binding(8) var<storage, read_write> workspace: array<u32>;

const CHUNK = 64u;
const FRACTION = 16777216.0;  // 2^24

// The decay between two tokens of a chunk is exp2 of a difference of sums, and in float32 the difference of two large
// sums has few digits.  So a sum is kept twice, without sign and times log2(e): x counts 2^-24ths, where differences
// stay exact though the count wraps round at 256, and y is a float32 that tells whether it has.
fn decay(earlier: vec2u, later: vec2u) -> f32 {
    let far = bitcast<f32>(later.y) - bitcast<f32>(earlier.y) > 126.0;
    return select(exp2(f32(later.x - earlier.x) * (-1.0 / FRACTION)), 0.0, far);
}

// The first token of a chunk, chunks being numbered through all sequences, and how many it has.
fn first_token(chunk: u32) -> u32 {
    return chunk / p.chunks * p.length + chunk % p.chunks * CHUNK;
}

fn tokens_of(chunk: u32) -> u32 {
    return min(CHUNK, p.length - chunk % p.chunks * CHUNK);
}

// Where the state of a head before a chunk begins.
fn state_before(chunk: u32, head: u32) -> u32 {
    let slot = chunk + chunk / p.chunks;
    return p.states_offset + (slot * p.heads + head) * p.state_size * p.head_dim;
}

// Where a token's B begins; its C is groups * state_size behind.
fn B_of(token: u32, group: u32) -> u32 {
    return p.x_offset + token * p.row + p.heads * p.head_dim + group * p.state_size;
}

fn C_of(token: u32, group: u32) -> u32 {
    return B_of(token, p.groups + group);
}
