// 32 x 32 outputs a workgroup, 4 x 4 a lane (lib/matmul_tiles.wgsl).

const LINES = 32u;
const STEPS = 16u;
const QUADS = 8u;

var<private> sums: mat4x4f; // column r: the four sums of row r

fn multiply_step(which: u32, k: u32, row: u32, column: u32) {
    sums += outer(tile_a[which][k][row], tile_b[which][k][column]);
}

// Spelled out: a loop would be guarded, and its indices checked, at every step.
fn multiply_tile(which: u32, row: u32, column: u32) {
    multiply_step(which, 0u, row, column);
    multiply_step(which, 1u, row, column);
    multiply_step(which, 2u, row, column);
    multiply_step(which, 3u, row, column);
    multiply_step(which, 4u, row, column);
    multiply_step(which, 5u, row, column);
    multiply_step(which, 6u, row, column);
    multiply_step(which, 7u, row, column);
    multiply_step(which, 8u, row, column);
    multiply_step(which, 9u, row, column);
    multiply_step(which, 10u, row, column);
    multiply_step(which, 11u, row, column);
    multiply_step(which, 12u, row, column);
    multiply_step(which, 13u, row, column);
    multiply_step(which, 14u, row, column);
    multiply_step(which, 15u, row, column);
}

fn store_sums(to: Output, i: u32, j: u32) {
    store4(to, i, j, sums[0]);
    store4(to, i + 1u, j, sums[1]);
    store4(to, i + 2u, j, sums[2]);
    store4(to, i + 3u, j, sums[3]);
}
