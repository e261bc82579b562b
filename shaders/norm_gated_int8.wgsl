//! lib: grid activation row row_int8 row_gated row_two_scaled
// g (1, f) = silu(alpha * normed @ gate^T) * (high_alpha * normed @ up^T), normed being the norm of x (1, i); gate and up
// (f, i) in 8 bits.

@group(0) @binding(1) var<storage, read_write> x: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> scale: array<vec4f>;
@group(0) @binding(3) var<storage, read_write> gate: array<vec4i>;
@group(0) @binding(4) var<storage, read_write> up: array<vec4i>;
@group(0) @binding(5) var<storage, read_write> c: array<f32>;
@group(0) @binding(6) var<storage, read_write> gate_scales: array<f32>;
@group(0) @binding(7) var<storage, read_write> up_scales: array<f32>;
