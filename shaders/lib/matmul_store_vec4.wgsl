// Stores four neighbouring sums of a row at once.  Wants offsets, strides and sizes of c and of what is added to it that
// are multiples of 4: the launch checks.

@group(0) @binding(3) var<storage, read_write> c: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> addend: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> bias: array<vec4f>;

// c[i, j] = alpha * sum + addend + bias (+ c) for j .. j+3; nothing where (i, j) lies outside.
fn store4(to: Output, i: u32, j: u32, sums: vec4f) {
    if (i < to.m && j < to.n) {
        let at = (to.at + i * to.stride + j) / 4u;
        var value = to.alpha * sums;
        if ((to.flags & HAS_ADDEND) != 0u) {
            value += addend[(to.addend_at + i * to.addend_stride + j) / 4u];
        }
        if ((to.flags & HAS_BIAS) != 0u) {
            value += bias[(to.bias_at + j) / 4u];
        }
        if ((to.flags & ACCUMULATE) != 0u) {
            value += c[at];
        }
        if (j + 4u <= to.n) {
            c[at] = value;
        } else {  // what lies beside c stays
            c[at] = select(c[at], value, vec4u(j, j + 1u, j + 2u, j + 3u) < vec4u(to.n));
        }
    }
}
