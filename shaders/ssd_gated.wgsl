//! lib: grid activation ssd_tokens
// Mamba-2's scan for one token, gated: g = y * silu(z).  y, z, g: (1, h*e) (lib/ssd_tokens.wgsl).

@group(0) @binding(5) var<storage, read_write> z: array<f32>;
@group(0) @binding(6) var<storage, read_write> g: array<f32>;

fn put(at: u32, channel: u32, value: f32) {
    g[at] = value * silu(z[p.z_offset + channel]);
}
