// 32 x 32 outputs a workgroup, 4 x 4 a lane (lib/matmul_tiles.wgsl).

const LINES = 32u;
const STEPS = 32u;
const QUADS = 8u;

var<private> sums: mat4x4f; // column r: the four sums of row r

fn multiply_step(k: u32, row: u32, column: u32) {
    sums += outer(tile_a[k][row], tile_b[k][column]);
}

// Eight steps a turn: fewer would be guarded too often.
fn multiply_tile(row: u32, column: u32) {
    for (var k = 0u; k < STEPS; k += 8u) {
        multiply_step(k, row, column);
        multiply_step(k + 1u, row, column);
        multiply_step(k + 2u, row, column);
        multiply_step(k + 3u, row, column);
        multiply_step(k + 4u, row, column);
        multiply_step(k + 5u, row, column);
        multiply_step(k + 6u, row, column);
        multiply_step(k + 7u, row, column);
    }
}

fn store_sums(to: Output, i: u32, j: u32) {
    store4(to, i, j, sums[0]);
    store4(to, i + 1u, j, sums[1]);
    store4(to, i + 2u, j, sums[2]);
    store4(to, i + 3u, j, sums[3]);
}
