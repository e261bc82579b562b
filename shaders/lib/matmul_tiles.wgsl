// c (i,j) = sum over k of a (i,k) * b (j,k), for GPUs: a workgroup of 64 lanes computes LINES x LINES outputs over tiles of
// STEPS k in workgroup memory, of which there are two (8 KiB in all): while one is multiplied, the numbers of the next
// are under way, and one barrier a tile is enough.  The shader that includes this sets LINES, STEPS and QUADS, and has
// `multiply_tile` and `store_sums`.  Workgroups past the last tile take further parts of k.

var<workgroup> tile_a: array<array<array<vec4f, QUADS>, STEPS>, 2>; // [which][k][line / 4]
var<workgroup> tile_b: array<array<array<vec4f, QUADS>, STEPS>, 2>;

fn keep_patch(which: u32, carried: Patch, values: mat4x4f, lane: u32) {
    let line = carried.place.x;
    let k = carried.place.y * 4u;
    if (lane < 32u) {
        tile_a[which][k][line] = values[0];
        tile_a[which][k + 1u][line] = values[1];
        tile_a[which][k + 2u][line] = values[2];
        tile_a[which][k + 3u][line] = values[3];
    } else {
        tile_b[which][k][line] = values[0];
        tile_b[which][k + 1u][line] = values[1];
        tile_b[which][k + 2u][line] = values[2];
        tile_b[which][k + 3u][line] = values[3];
    }
}

fn outer(x: vec4f, y: vec4f) -> mat4x4f {
    return mat4x4f(x.x * y, x.y * y, x.z * y, x.w * y);
}

fn product_tile(workgroup: u32, lane: u32) {
    let part = workgroup / p.tiles;
    let tile = workgroup % p.tiles;
    let i = tile / p.tiles_across * LINES;
    let j = tile % p.tiles_across * LINES;
    let begin = part * p.part_k;
    let end = min(begin + p.part_k, p.k);
    if (part > 0u && begin >= p.k) { // of a grid that was folded into rows
        return;
    }
    var carried = patch_of(lane, i, j, begin);
    var values = next_patch(&carried, lane, end, begin + STEPS <= end);
    keep_patch(0u, carried, values, lane);
    workgroupBarrier();
    var which = 0u;
    for (var k = begin; k < end; k += STEPS) {
        if (k + STEPS < end) {
            values = next_patch(&carried, lane, end, k + 2u * STEPS <= end);
        }
        multiply_tile(which, lane / 8u, lane % 8u);
        which = 1u - which;
        keep_patch(which, carried, values, lane);
        workgroupBarrier();
    }
    store_sums(output_of(part), i + lane / 8u * 4u, j + lane % 8u * 4u);
}
