// What becomes of the sums of lib/row: g = silu(alpha * low) * (high_alpha * high), low and high being the same line of
// two matrices.

const OUTPUTS = 4u;

fn finish(row: u32, j: u32, slot: u32) {
    c[p.c_at + j] = silu(p.alpha * sums[slot]) * (p.high_alpha * sums[slot + 4u]);
}
