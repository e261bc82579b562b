// As matmul_tile32 with 64 x 64 outputs, 8 x 8 a lane, over tiles of 8 k (4 KiB): half the reads of workgroup memory
// per multiply-add, for products that fill the GPU with such tiles.  A lane's rows are 4 and, 32 below, 4 more, its
// columns likewise: neighbours read neighbours.

var<workgroup> tile_a: array<vec4f, 128>; // [k][line / 4]
var<workgroup> tile_b: array<vec4f, 128>;

fn carry_a(slot: u32, i: u32, k: u32) {
    let place = patch_place(slot, a_along_k, 16u, 2u);
    let values = patch_of_a(i + place.x * 4u, k + place.y * 4u);
    let at = place.y * 64u + place.x;
    tile_a[at] = values[0];
    tile_a[at + 16u] = values[1];
    tile_a[at + 32u] = values[2];
    tile_a[at + 48u] = values[3];
}

fn carry_b(slot: u32, j: u32, k: u32) {
    let place = patch_place(slot, b_along_k, 16u, 2u);
    let values = patch_of_b(j + place.x * 4u, k + place.y * 4u);
    let at = place.y * 64u + place.x;
    tile_b[at] = values[0];
    tile_b[at + 16u] = values[1];
    tile_b[at + 32u] = values[2];
    tile_b[at + 48u] = values[3];
}

fn outer(x: vec4f, y: vec4f) -> mat4x4f {
    return mat4x4f(x.x * y, x.y * y, x.z * y, x.w * y);
}

fn product_tile(tile: u32, lane: u32) {
    let i = tile / p.tiles_across * 64u;
    let j = tile % p.tiles_across * 64u;
    let row = lane / 8u;
    let column = lane % 8u;
    var sums = mat4x4f(); // column r: the four sums of row r
    var right = mat4x4f();
    var below = mat4x4f();
    var below_right = mat4x4f();
    for (var k = 0u; k < p.k; k += 8u) {
        if (lane < 32u) {
            carry_a(lane, i, k);
        } else {
            carry_b(lane - 32u, j, k);
        }
        workgroupBarrier();
        for (var at = 0u; at < 128u; at += 16u) {
            let x0 = tile_a[at + row];
            let x1 = tile_a[at + 8u + row];
            let y0 = tile_b[at + column];
            let y1 = tile_b[at + 8u + column];
            sums += outer(x0, y0);
            right += outer(x0, y1);
            below += outer(x1, y0);
            below_right += outer(x1, y1);
        }
        workgroupBarrier();
    }
    for (var r = 0u; r < 8u; r++) {
        let line = i + row * 4u + r / 4u * 32u + r % 4u;
        store4(line, j + column * 4u, sums[0]);
        store4(line, j + column * 4u + 32u, right[0]);
        sums = mat4x4f(sums[1], sums[2], sums[3], below[0]);
        right = mat4x4f(right[1], right[2], right[3], below_right[0]);
        below = mat4x4f(below[1], below[2], below[3], vec4f());
        below_right = mat4x4f(below_right[1], below_right[2], below_right[3], vec4f());
    }
}
