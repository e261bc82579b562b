//! lib: matmul_params matmul_epilogue matmul_rows
// The product for up to 4 rows of a, with b in float16, two to a word (lib/matmul_rows.wgsl).  WGSL's own unpacking is
// exact but for subnormals, which may become zero: less than 2^-14 of a weight of 1.

@group(0) @binding(2) var<storage, read_write> b: array<u32>;

fn weight(at: u32) -> f32 {
    return unpack2x16float(b[at / 2u] >> (16u * (at % 2u))).x;
}

fn weights(columns: vec4u, k: u32) -> vec4f {
    let at = p.b_offset + columns * p.b_row + k * p.b_step;
    return vec4f(weight(at.x), weight(at.y), weight(at.z), weight(at.w));
}
