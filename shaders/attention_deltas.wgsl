// sums[i, heads + h] = d_y . y over the channels of head h.  d_y, y: (t, heads * head_dim); sums: (t, 2 heads).
// One lane per token and head.
//! lib: grid

struct Params {
    count: u32,  // t * heads
    heads: u32,
    head_dim: u32,
    d_y_offset: u32,
    y_offset: u32,
    sums_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> d_y: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
@group(0) @binding(3) var<storage, read_write> sums: array<f32>;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let own = flat_group(group, grid) * 64u + lane;
    if (own >= p.count) {
        return;
    }
    var dot = 0.0;
    for (var d = 0u; d < p.head_dim; d++) {
        dot += d_y[p.d_y_offset + own * p.head_dim + d] * y[p.y_offset + own * p.head_dim + d];
    }
    sums[p.sums_offset + own / p.heads * 2u * p.heads + p.heads + own % p.heads] = dot;
}
