// x *= factor.  x: rows of `columns` elements, `stride` apart; count in all.  256 lanes take 1,024 elements.
//! lib: grid

struct Params {
    count: u32,
    columns: u32,
    stride: u32,
    x_offset: u32,
    factor: f32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> x: array<f32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let begin = flat_group(group, grid) * 1024u;
    for (var i = begin + lane; i < min(begin + 1024u, p.count); i += 256u) {
        x[p.x_offset + i / p.columns * p.stride + i % p.columns] *= p.factor;
    }
}
