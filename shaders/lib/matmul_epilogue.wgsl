// What all matrix products share: the parameters, the operands after a and b, and how a finished sum is stored.
//
// An operand is given by two distances: `row` from one i (of a) or one j (of b) to the next, `step` from one k to the
// next.  That makes nt, nn and tn the same product: only which of the two distances is 1 differs.

struct Params {
    m: u32,
    n: u32,
    k: u32,
    flags: u32,
    a_offset: u32,
    a_row: u32,
    a_step: u32,
    b_offset: u32,
    b_row: u32,
    b_step: u32,
    c_offset: u32,
    c_stride: u32,
    addend_offset: u32,
    addend_stride: u32,
    bias_offset: u32,
    alpha: f32,
    tiles_across: u32,
    lanes_across: u32, // only the register-blocked kernels read it
}

const HAS_ADDEND = 1u;
const HAS_BIAS = 2u;
const ACCUMULATE = 4u;

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(3) var<storage, read_write> c: array<f32>;
@group(0) @binding(4) var<storage, read_write> addend: array<f32>;
@group(0) @binding(5) var<storage, read_write> bias: array<f32>;

// c[i, j] = alpha * sum + addend + bias (+ c); nothing where (i, j) lies outside.
fn store(i: u32, j: u32, sum: f32) {
    if (i < p.m && j < p.n) {
        let at = p.c_offset + i * p.c_stride + j;
        var value = p.alpha * sum;
        if ((p.flags & HAS_ADDEND) != 0u) {
            value += addend[p.addend_offset + i * p.addend_stride + j];
        }
        if ((p.flags & HAS_BIAS) != 0u) {
            value += bias[p.bias_offset + j];
        }
        if ((p.flags & ACCUMULATE) != 0u) {
            value += c[at];
        }
        c[at] = value;
    }
}

fn store4(i: u32, j: u32, sums: vec4f) {
    store(i, j, sums.x);
    store(i, j + 1u, sums.y);
    store(i, j + 2u, sums.z);
    store(i, j + 3u, sums.w);
}
