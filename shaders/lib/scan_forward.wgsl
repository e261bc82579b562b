// Parameters and bindings that every variant of the selective scan shares.
//
//   h_t = exp(Delta_t * A) * h_{t-1} + Delta_t * u_t * B_t        per channel, n states
//   y_t = sum over n of h_t * C_t + D * u_t                      Delta = softplus(delta + dt_bias)
//
// u, delta, y: (b*l, d); x_dbl: (b*l, row), a row being r + B (n) + C (n); coefficients: (n+2, d) = A transposed, D,
// dt_bias; states: (b, chunks+1, n, d), the state before each 64 tokens and the final one.  N comes from the header.

struct Params {
    sequences: u32,
    length: u32,
    width: u32,
    blocks: u32,  // of 64 channels
    chunks: u32,  // of 64 tokens
    rank: u32,
    row: u32,
    carry: u32,
    u_offset: u32,
    delta_offset: u32,
    x_dbl_offset: u32,
    coefficients_offset: u32,
    states_offset: u32,
    y_offset: u32,
    workspace_offset: u32,
    first_chunk: u32,  // the wide variant takes the chunks from here ...
    last_chunk: u32,  // ... up to, not including, here
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> u: array<f32>;
@group(0) @binding(2) var<storage, read_write> delta: array<f32>;
@group(0) @binding(3) var<storage, read_write> x_dbl: array<f32>;
@group(0) @binding(4) var<storage, read_write> coefficients: array<f32>;
@group(0) @binding(5) var<storage, read_write> states: array<f32>;
@group(0) @binding(6) var<storage, read_write> y: array<f32>;
@group(0) @binding(7) var<storage, read_write> workspace: array<f32>;

fn state_index(sequence: u32, slot: u32, state: u32, channel: u32) -> u32 {
    return p.states_offset + ((sequence * (p.chunks + 1u) + slot) * N + state) * p.width + channel;
}
