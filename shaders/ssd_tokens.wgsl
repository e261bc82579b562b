//! lib: grid activation ssd_tokens
// Mamba-2's scan over a few tokens: y (t, h*e) (lib/ssd_tokens.wgsl).

@group(0) @binding(5) var<storage, read_write> y: array<f32>;

fn put(at: u32, channel: u32, value: f32) {
    y[at] = value;
}
