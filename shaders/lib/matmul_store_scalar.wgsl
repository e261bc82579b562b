// Stores four neighbouring sums of a row, one by one: for views of c and what is added to it off the grid of 4.

@group(0) @binding(3) var<storage, read_write> c: array<f32>;
@group(0) @binding(4) var<storage, read_write> addend: array<f32>;
@group(0) @binding(5) var<storage, read_write> bias: array<f32>;

// c[i, j] = alpha * sum + addend + bias (+ c); nothing where (i, j) lies outside.
fn store1(to: Output, i: u32, j: u32, sum: f32) {
    if (j < to.n) {
        let at = to.at + i * to.stride + j;
        var value = to.alpha * sum;
        if ((to.flags & HAS_ADDEND) != 0u) {
            value += addend[to.addend_at + i * to.addend_stride + j];
        }
        if ((to.flags & HAS_BIAS) != 0u) {
            value += bias[to.bias_at + j];
        }
        if ((to.flags & ACCUMULATE) != 0u) {
            value += c[at];
        }
        c[at] = value;
    }
}

fn store4(to: Output, i: u32, j: u32, sums: vec4f) {
    if (i < to.m) {
        store1(to, i, j, sums.x);
        store1(to, i, j + 1u, sums.y);
        store1(to, i, j + 2u, sums.z);
        store1(to, i, j + 3u, sums.w);
    }
}
