// c (i,j) = sum over k of a (i,k) * b (j,k), for GPUs: a workgroup of 64 lanes computes 32 x 32 outputs, 4 x 4 a
// lane, over tiles of 16 k in workgroup memory (4 KiB).  Lanes 0..31 carry one patch of a each, lanes 32..63 one of
// b.

var<workgroup> tile_a: array<vec4f, 128>; // [k][line / 4]
var<workgroup> tile_b: array<vec4f, 128>;

fn carry_a(slot: u32, i: u32, k: u32) {
    let place = patch_place(slot, a_along_k, 8u, 4u);
    let values = patch_of_a(i + place.x * 4u, k + place.y * 4u);
    let at = place.y * 32u + place.x;
    tile_a[at] = values[0];
    tile_a[at + 8u] = values[1];
    tile_a[at + 16u] = values[2];
    tile_a[at + 24u] = values[3];
}

fn carry_b(slot: u32, j: u32, k: u32) {
    let place = patch_place(slot, b_along_k, 8u, 4u);
    let values = patch_of_b(j + place.x * 4u, k + place.y * 4u);
    let at = place.y * 32u + place.x;
    tile_b[at] = values[0];
    tile_b[at + 8u] = values[1];
    tile_b[at + 16u] = values[2];
    tile_b[at + 24u] = values[3];
}

fn outer(x: vec4f, y: vec4f) -> mat4x4f {
    return mat4x4f(x.x * y, x.y * y, x.z * y, x.w * y);
}

fn product_tile(tile: u32, lane: u32) {
    let i = tile / p.tiles_across * 32u;
    let j = tile % p.tiles_across * 32u;
    let row = lane / 8u;
    let column = lane % 8u;
    var sums = mat4x4f(); // column r: the four sums of row r
    for (var k = 0u; k < p.k; k += 16u) {
        if (lane < 32u) {
            carry_a(lane, i, k);
        } else {
            carry_b(lane - 32u, j, k);
        }
        workgroupBarrier();
        for (var at = 0u; at < 128u; at += 32u) {
            sums += outer(tile_a[at + row], tile_b[at + column]);
            sums += outer(tile_a[at + 8u + row], tile_b[at + 8u + column]);
            sums += outer(tile_a[at + 16u + row], tile_b[at + 16u + column]);
            sums += outer(tile_a[at + 24u + row], tile_b[at + 24u + column]);
        }
        workgroupBarrier();
    }
    for (var r = 0u; r < 4u; r++) {
        store4(i + row * 4u + r, j + column * 4u, sums[0]);
        sums = mat4x4f(sums[1], sums[2], sums[3], vec4f());
    }
}
