//! lib: matmul_params matmul_output matmul_read_scalar matmul_store_scalar matmul_tile64 matmul_patch matmul_tiles
// The product in tiles of 64 x 64 outputs (lib/matmul_tile64.wgsl), for views off the grid of 4.

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    product_tile(group.y * groups.x + group.x, lane);
}
