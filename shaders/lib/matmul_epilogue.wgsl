// How a finished sum of a matrix product is stored, one number at a time, and the operands after a and b.  Goes with
// matmul_params.

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
