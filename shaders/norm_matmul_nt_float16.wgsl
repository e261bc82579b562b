//! lib: grid row row_float16 row_store row_one
// c (t, j) = alpha * x (t, i), of a single row also its norm, @ b (j, i)^T, with b in float16.

@group(0) @binding(1) var<storage, read_write> x: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> scale: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> b: array<vec4u>;
@group(0) @binding(4) var<storage, read_write> c: array<f32>;
@group(0) @binding(5) var<storage, read_write> addend: array<f32>;
@group(0) @binding(6) var<storage, read_write> bias: array<f32>;
