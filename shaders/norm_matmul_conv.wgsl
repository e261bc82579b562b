//! lib: grid activation row row_float32 row_conv row_one
// c (1, j) = alpha * the norm of x (1, i) @ b (j, i)^T, with b in float32, some of its columns convolved over time.

@group(0) @binding(1) var<storage, read_write> x: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> scale: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> b: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> c: array<f32>;
@group(0) @binding(5) var<storage, read_write> weight: array<f32>;
@group(0) @binding(6) var<storage, read_write> bias: array<f32>;
@group(0) @binding(7) var<storage, read_write> history: array<f32>;
