// Backward of g = y * silu(z), in place: d_g becomes d_y, y becomes g again, because the gradient of the projection
// after it needs g. d_g, y: (t, d); z, d_z: (t, d), rows apart by their strides; d_z may be z itself.  256 lanes take
// 1,024 elements.
//! lib: grid activation

struct Params {
    count: u32,
    width: u32,
    z_stride: u32,
    d_z_stride: u32,
    want_d_z: u32,
    d_g_offset: u32,
    y_offset: u32,
    z_offset: u32,
    d_z_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> d_g: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
@group(0) @binding(3) var<storage, read_write> z: array<f32>;
@group(0) @binding(4) var<storage, read_write> d_z: array<f32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let begin = flat_group(group, grid) * 1024u;
    for (var i = begin + lane; i < min(begin + 1024u, p.count); i += 256u) {
        let row = i / p.width;
        let column = i % p.width;
        let z_value = z[p.z_offset + row * p.z_stride + column];
        let y_value = y[p.y_offset + i];
        let d_value = d_g[p.d_g_offset + i];
        let s = sigmoid(z_value);
        d_g[p.d_g_offset + i] = d_value * z_value * s;
        y[p.y_offset + i] = y_value * z_value * s;
        if (p.want_d_z != 0u) {
            d_z[p.d_z_offset + row * p.d_z_stride + column] = d_value * y_value * s * (1.0 + z_value * (1.0 - s));
        }
    }
}
