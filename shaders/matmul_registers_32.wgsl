//! lib: matmul_params matmul_epilogue matmul_block16
// As matmul_registers_16, with 32 x 32 sums a lane in four blocks: half as many loads per multiply-add, for products
// large enough to fill such tiles.  The sums no longer fit the CPU's registers but its first cache, which is still
// far cheaper than a load.

@compute @workgroup_size(8)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let tile = group.y * groups.x + group.x;
    let i = (tile / p.tiles_across * (8u / p.lanes_across) + lane / p.lanes_across) * 32u;
    let j = (tile % p.tiles_across * p.lanes_across + lane % p.lanes_across) * 32u;
    let rows = places(p.a_offset, i, p.m, p.a_row);
    let rows_below = places(p.a_offset, i + 16u, p.m, p.a_row);
    let columns = places(p.b_offset, j, p.n, p.b_row);
    let columns_right = places(p.b_offset, j + 16u, p.n, p.b_row);
    var block = Block();
    var right = Block();
    var below = Block();
    var below_right = Block();
    for (var k = 0u; k < p.k; k++) {
        let a_step = k * p.a_step;
        let b_step = k * p.b_step;
        let x0 = a16(rows, a_step);
        let x1 = a16(rows_below, a_step);
        let y0 = b16(columns, b_step);
        let y1 = b16(columns_right, b_step);
        add_outer(&block, x0, y0);
        add_outer(&right, x0, y1);
        add_outer(&below, x1, y0);
        add_outer(&below_right, x1, y1);
    }
    // The blocks queue up for the one piece of storing code, as the rows do inside it.
    for (var q = 0u; q < 4u; q++) {
        store_block(&block, i + q / 2u * 16u, j + q % 2u * 16u);
        block = right;
        right = below;
        below = below_right;
    }
}
