// What becomes of the sums of lib/row: c = alpha * sum + addend + bias (+ c).

const OUTPUTS = 8u;

fn finish(row: u32, j: u32, slot: u32) {
    let at = p.c_at + row * p.c_row + j;
    var value = p.alpha * sums[slot];
    if ((p.flags & HAS_ADDEND) != 0u) {
        value += addend[p.addend_at + row * p.addend_row + j];
    }
    if ((p.flags & HAS_BIAS) != 0u) {
        value += bias[p.bias_at + j];
    }
    if ((p.flags & ACCUMULATE) != 0u) {
        value += c[at];
    }
    c[at] = value;
}
