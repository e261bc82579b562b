//! lib: grid expert_rows
// A few rows with the matrix of one expert each, in float32 (lib/expert_rows.wgsl).

@group(0) @binding(2) var<storage, read_write> b: array<f32>;

fn weight(row: u32, i: u32) -> f32 {
    return b[p.b_offset + row * p.b_row + i];
}
