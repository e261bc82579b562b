//! lib: matmul_params matmul_epilogue matmul_block16
// c (i,j) = sum over k of a (i,k) * b (j,k): every lane keeps 16 x 16 sums in registers and reads a and b straight
// from storage.  For CPU drivers: llvmpipe spends about a hundred times longer on a load (each lane on its own,
// whatever the address) than on a multiply-add, and gains nothing from workgroup memory.  So the loads per
// multiply-add count, (16 + 16) / 256 here, and nothing else.  The 8 lanes of a workgroup lie `lanes_across` side by
// side, the rest below each other.

@compute @workgroup_size(8)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let tile = group.y * groups.x + group.x;
    let i = (tile / p.tiles_across * (8u / p.lanes_across) + lane / p.lanes_across) * 16u;
    let j = (tile % p.tiles_across * p.lanes_across + lane % p.lanes_across) * 16u;
    let rows = places(p.a_offset, i, p.m, p.a_row);
    let columns = places(p.b_offset, j, p.n, p.b_row);
    var block = Block();
    for (var k = 0u; k < p.k; k++) {
        add_outer(&block, a16(rows, k * p.a_step), b16(columns, k * p.b_step));
    }
    store_block(&block, i, j);
}
