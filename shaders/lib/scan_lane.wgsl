// One lane, one channel: its n states as quads in registers, B and C of a few tokens in workgroup memory.
//
// The quads are stepped by constant indices (a loop over a private array may end up in slow memory where the compiler
// does not unroll it); only more than 16 states take the loop.  A state size that is no multiple of four is padded with
// states that stay zero. Uses p, x_dbl and coefficients of the shader that includes it.

const QUADS = (N + 3u) / 4u;
const SLOTS = (QUADS + 3u) / 4u * 4u;  // constant indices 0..3 must exist
const TILE = max(1u, min(64u, 128u / QUADS));  // tokens, at most 4 KiB
const LOG2E = 1.4426950408889634;

var<private> A: array<vec4f, SLOTS>;  // times log2(e): exp2 is what the hardware has
var<private> h: array<vec4f, SLOTS>;
var<workgroup> tile: array<vec4f, TILE * 2u * QUADS>;  // per token: quads of B, quads of C

fn A_of(state: u32, channel: u32) -> f32 {
    if (state >= N) {
        return 0.0;
    }
    return LOG2E * coefficients[p.coefficients_offset + state * p.width + channel];
}

fn load_A(channel: u32) {
    for (var q = 0u; q < QUADS; q++) {
        let n = 4u * q;
        A[q] = vec4f(A_of(n, channel), A_of(n + 1u, channel), A_of(n + 2u, channel), A_of(n + 3u, channel));
    }
}

fn row_value(at: u32, state: u32) -> f32 {
    if (state >= N) {
        return 0.0;
    }
    return x_dbl[at + state];
}

// All 64 lanes: B and C of the tokens first .. first+count-1 (token = row of x_dbl) into the tile.
fn load_tile(first: u32, count: u32, lane: u32) {
    workgroupBarrier();
    for (var k = lane; k < count * 2u * QUADS; k += 64u) {
        let token = first + k / (2u * QUADS);
        let quad = k % (2u * QUADS);
        let n = 4u * (quad % QUADS);
        let at = p.x_dbl_offset + token * p.row + p.rank + (quad / QUADS) * N;
        tile[k] = vec4f(row_value(at, n), row_value(at, n + 1u), row_value(at, n + 2u), row_value(at, n + 3u));
    }
    workgroupBarrier();
}

// One step of the recurrence; gives the sum over the states of h * C.  `at` is the token's place in the tile.
fn advance(step: f32, drive: f32, at: u32) -> f32 {
    h[0] = exp2(step * A[0]) * h[0] + drive * tile[at];
    var sum = h[0] * tile[at + QUADS];
    if (QUADS > 1u) {
        h[1] = exp2(step * A[1]) * h[1] + drive * tile[at + 1u];
        sum += h[1] * tile[at + QUADS + 1u];
    }
    if (QUADS > 2u) {
        h[2] = exp2(step * A[2]) * h[2] + drive * tile[at + 2u];
        sum += h[2] * tile[at + QUADS + 2u];
    }
    if (QUADS > 3u) {
        h[3] = exp2(step * A[3]) * h[3] + drive * tile[at + 3u];
        sum += h[3] * tile[at + QUADS + 3u];
    }
    for (var q = 4u; q < QUADS; q++) {
        h[q] = exp2(step * A[q]) * h[q] + drive * tile[at + q];
        sum += h[q] * tile[at + QUADS + q];
    }
    return (sum.x + sum.y) + (sum.z + sum.w);
}
