// g = silu(z) * u.  x: (t, 2f) holds z and then u in each row; g: (t, f).  256 lanes take 1,024 elements.
//! lib: grid activation

struct Params {
    count: u32,  // t * f
    width: u32,  // f
    x_offset: u32,
    g_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> g: array<f32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let begin = flat_group(group, grid) * 1024u;
    for (var i = begin + lane; i < min(begin + 1024u, p.count); i += 256u) {
        let z = p.x_offset + i / p.width * 2u * p.width + i % p.width;
        g[p.g_offset + i] = silu(x[z]) * x[z + p.width];
    }
}
