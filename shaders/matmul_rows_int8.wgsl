//! lib: matmul_params matmul_epilogue matmul_rows
// The product for up to 4 rows of a, with b in 8 bits, four to a word, and a scale for each 32 of a row
// (lib/matmul_rows.wgsl).  Distances of b are in words; `scales_at` and `scales_row` are those of the scales.

override scales_at: u32 = 0u;
override scales_row: u32 = 1u;

@group(0) @binding(2) var<storage, read_write> b: array<i32>;
@group(0) @binding(6) var<storage, read_write> scales: array<f32>;

fn weight(column: u32, k: u32) -> f32 {
    let word = b[p.b_offset + column * p.b_row + k / 4u];
    return f32(extractBits(word, 8u * (k % 4u), 8u)) * scales[scales_at + column * scales_row + k / 32u];
}

fn weights(columns: vec4u, k: u32) -> vec4f {
    return vec4f(weight(columns.x, k), weight(columns.y, k), weight(columns.z, k), weight(columns.w, k));
}
