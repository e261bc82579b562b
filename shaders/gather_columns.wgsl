// y (i, j) = x (i, ids[j]).  ids: (k), in order, so that lanes side by side read near each other; x: (t, v); y: (t, k).
// 256 lanes take 1,024 elements of y.
//! lib: grid

struct Params {
    count: u32,
    columns: u32,
    width: u32,
    ids_offset: u32,
    x_offset: u32,
    y_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> ids: array<i32>;
@group(0) @binding(2) var<storage, read_write> x: array<f32>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let begin = flat_group(group, grid) * 1024u;
    for (var i = begin + lane; i < min(begin + 1024u, p.count); i += 256u) {
        let column = u32(ids[p.ids_offset + i % p.columns]);
        y[p.y_offset + i] = x[p.x_offset + i / p.columns * p.width + column];
    }
}
