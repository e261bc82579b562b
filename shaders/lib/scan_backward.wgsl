// Parameters and bindings of the variants of the selective scan's backward.  The equations, per channel, tokens
// from last to first, G = 0:
//
//   dh = d_y * C + G          d_C = sum over channels of d_y * h        w = a * h before the token,  a = exp(Delta * A)
//   q = dh * w                d_A += q * Delta                          s = sum over n of dh * B
//   d_Delta = sum over n of q * A + s * u                               d_u = d_y * D + s * Delta
//   d_B = sum over channels of dh * Delta * u                           G = a * dh
//   d_D += d_y * u            d_delta = d_Delta * sigmoid(delta + dt_bias), whose sum is d_dt_bias
//
// u, delta, d_y: (b*l, d); x_dbl: (b*l, row); coefficients: (n+2, d); states: (b, chunks+1, n, d).  d_u replaces d_y
// and d_delta replaces delta. partials: (blocks, b*l, 2n) sums of d_B | d_C over 64 channels, then (b, n+2, d) sums
// over the tokens of a sequence. A workgroup re-runs tokens from the kept state before them to have w, then walks back
// over them; dividing by a instead would blow up.

struct Params {
    sequences: u32,
    length: u32,
    width: u32,
    blocks: u32,  // of 64 channels
    chunks: u32,  // of 64 tokens
    rank: u32,
    row: u32,
    want_inputs: u32,
    want_coefficients: u32,
    u_offset: u32,
    delta_offset: u32,
    x_dbl_offset: u32,
    coefficients_offset: u32,
    states_offset: u32,
    d_y_offset: u32,
    partials_offset: u32,
    d_coefficients_offset: u32,  // in partials
    workspace_offset: u32,  // in elements of the variant's workspace
    first_chunk: u32,  // the wide variant takes the chunks from last_chunk - 1 ...
    last_chunk: u32,  // ... down to first_chunk
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> u: array<f32>;
@group(0) @binding(2) var<storage, read_write> delta: array<f32>;
@group(0) @binding(3) var<storage, read_write> x_dbl: array<f32>;
@group(0) @binding(4) var<storage, read_write> coefficients: array<f32>;
@group(0) @binding(5) var<storage, read_write> states: array<f32>;
@group(0) @binding(6) var<storage, read_write> d_y: array<f32>;
@group(0) @binding(7) var<storage, read_write> partials: array<f32>;

const LN2 = 0.6931471805599453;

fn state_index(sequence: u32, slot: u32, state: u32, channel: u32) -> u32 {
    return p.states_offset + ((sequence * (p.chunks + 1u) + slot) * N + state) * p.width + channel;
}

fn d_coefficient_index(sequence: u32, row: u32, channel: u32) -> u32 {
    return p.d_coefficients_offset + (sequence * (N + 2u) + row) * p.width + channel;
}
