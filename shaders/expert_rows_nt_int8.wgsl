//! lib: grid expert_rows
// A few rows with the matrix of one expert each, in 8 bits, four to a word, and a scale for each 32 of a row
// (lib/expert_rows.wgsl).  The offset and the rows of b are counted in words.

@group(0) @binding(2) var<storage, read_write> b: array<i32>;
@group(0) @binding(5) var<storage, read_write> scales: array<f32>;

fn weight(row: u32, i: u32) -> f32 {
    let word = b[p.b_offset + row * p.b_row + i / 4u];
    return f32(extractBits(word, 8u * (i % 4u), 8u)) * scales[p.scales_offset + row * p.scales_row + i / 32u];
}
