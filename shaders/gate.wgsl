// g = y * silu(z).  y, g: (t, d); z: (t, d), rows z_stride apart (it is half of the input projection).  256 lanes take
// 1,024 elements.
//! lib: grid activation

struct Params {
    count: u32,
    width: u32,
    z_stride: u32,
    y_offset: u32,
    z_offset: u32,
    g_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<storage, read_write> z: array<f32>;
@group(0) @binding(3) var<storage, read_write> g: array<f32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let begin = flat_group(group, grid) * 1024u;
    for (var i = begin + lane; i < min(begin + 1024u, p.count); i += 256u) {
        let z_at = p.z_offset + i / p.width * p.z_stride + i % p.width;
        g[p.g_offset + i] = y[p.y_offset + i] * silu(z[z_at]);
    }
}
