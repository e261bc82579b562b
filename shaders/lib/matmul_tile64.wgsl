// 64 x 64 outputs a workgroup, 8 x 8 a lane: half the reads of workgroup memory per multiply-add, for products that fill
// the GPU with such tiles (lib/matmul_tiles.wgsl).  A lane's rows are 4 and, 32 below, 4 more, its columns likewise:
// neighbours read neighbours.

const LINES = 64u;
const STEPS = 16u;
const QUADS = 16u;

var<private> sums: mat4x4f; // column r: the four sums of row r
var<private> right: mat4x4f;
var<private> below: mat4x4f;
var<private> below_right: mat4x4f;

fn multiply_step(k: u32, row: u32, column: u32) {
    let x0 = tile_a[k][row];
    let x1 = tile_a[k][row + 8u];
    let y0 = tile_b[k][column];
    let y1 = tile_b[k][column + 8u];
    sums += outer(x0, y0);
    right += outer(x0, y1);
    below += outer(x1, y0);
    below_right += outer(x1, y1);
}

// Two steps a turn: one would be guarded too often, and of all of them Intel's compiler reads the tiles too early.
fn multiply_tile(row: u32, column: u32) {
    for (var k = 0u; k < STEPS; k += 2u) {
        multiply_step(k, row, column);
        multiply_step(k + 1u, row, column);
    }
}

fn store_block(to: Output, i: u32, j: u32, block: mat4x4f) {
    store4(to, i, j, block[0]);
    store4(to, i + 1u, j, block[1]);
    store4(to, i + 2u, j, block[2]);
    store4(to, i + 3u, j, block[3]);
}

fn store_sums(to: Output, i: u32, j: u32) {
    store_block(to, i, j, sums);
    store_block(to, i, j + 32u, right);
    store_block(to, i + 32u, j, below);
    store_block(to, i + 32u, j + 32u, below_right);
}
