//! lib: grid expert_rows float_bits
// A few rows with the matrix of one expert each, in float16, two to a word (lib/expert_rows.wgsl).

@group(0) @binding(2) var<storage, read_write> b: array<u32>;

fn weight(row: u32, i: u32) -> f32 {
    let at = p.b_offset + row * p.b_row + i;
    return bitcast<f32>(float16_to_float32((b[at / 2u] >> (16u * (at % 2u))) & 0xffffu));
}
