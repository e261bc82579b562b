// In place: x (t, 2f), z and then u in each row, becomes its gradient; g (t, f) = silu(z) * u is made again.
// d_g: (t, f).  256 lanes take 1,024 elements.
//! lib: grid activation

struct Params {
    count: u32,  // t * f
    width: u32,  // f
    d_g_offset: u32,
    x_offset: u32,
    g_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> d_g: array<f32>;
@group(0) @binding(2) var<storage, read_write> x: array<f32>;
@group(0) @binding(3) var<storage, read_write> g: array<f32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let begin = flat_group(group, grid) * 1024u;
    for (var i = begin + lane; i < min(begin + 1024u, p.count); i += 256u) {
        let at = p.x_offset + i / p.width * 2u * p.width + i % p.width;
        let z = x[at];
        let u = x[at + p.width];
        let d = d_g[p.d_g_offset + i];
        let activated = silu(z);
        g[p.g_offset + i] = activated * u;
        x[at] = d * u * silu_derivative(z);
        x[at + p.width] = d * activated;
    }
}
