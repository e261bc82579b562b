//! lib: matmul_params matmul_epilogue matmul_rows
// The product for up to 4 rows of a, with b in float32 at any distances (lib/matmul_rows.wgsl).

@group(0) @binding(2) var<storage, read_write> b: array<f32>;

fn weights(columns: vec4u, k: u32) -> vec4f {
    let at = p.b_offset + columns * p.b_row + k * p.b_step;
    return vec4f(b[at.x], b[at.y], b[at.z], b[at.w]);
}
