//! lib: matmul_params matmul_epilogue
// The second pass of a product whose k was shared out: c (i,j) from the sums of its parts, always in their order.
// a: (parts, m*n), parts a_row apart; k: how many.  One lane per element of c.

@group(0) @binding(1) var<storage, read_write> a: array<f32>;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let element = (group.y * groups.x + group.x) * 64u + lane;
    if (element >= p.m * p.n) {
        return;
    }
    var sum = 0.0;
    for (var part = 0u; part < p.k; part++) {
        sum += a[p.a_offset + part * p.a_row + element];
    }
    store(element / p.n, element % p.n, sum);
}
