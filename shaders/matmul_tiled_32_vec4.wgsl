//! lib: matmul_params matmul_output matmul_read_vec4 matmul_store_vec4 matmul_tile32 matmul_patch matmul_tiles
// The product in tiles of 32 x 32 outputs (lib/matmul_tile32.wgsl), where all views begin and advance in
// multiples of 4.

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    product_tile(group.y * groups.x + group.x, lane);
}
