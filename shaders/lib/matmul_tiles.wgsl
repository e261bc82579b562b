// c (i,j) = sum over k of a (i,k) * b (j,k), for GPUs: a workgroup of 64 lanes computes LINES x LINES outputs over tiles of
// STEPS k in workgroup memory (8 KiB in all).  The shader that includes this sets LINES, STEPS and QUADS, of which
// LINES * STEPS is 1024, and has `multiply_tile` and `store_sums`.  Workgroups past the last tile take further parts of k.
//
// The next tile is not under way while one is multiplied: it would take registers that Intel's GPUs do not have, and
// others wait for it in vain, since what is read passes a branch.  Other workgroups have work meanwhile.

var<workgroup> tile_a: array<array<vec4f, QUADS>, STEPS>; // [k][line / 4]
var<workgroup> tile_b: array<array<vec4f, QUADS>, STEPS>;

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
    let of_a = patch_at(lane, a_along_k, p.a_offset, p.a_row, i, p.m);
    let of_b = patch_at(lane, b_along_k, p.b_offset, p.b_row, j, p.n);
    for (var k = begin; k < end; k += STEPS) {
        workgroupBarrier();
        let a_at = places(of_a, a_along_k, p.a_step, k + of_a.k, end);
        let a_read = mat4x4f(read_a(a_at.x), read_a(a_at.y), read_a(a_at.z), read_a(a_at.w));
        let a_patch = whole_patch(a_read, a_along_k, k + of_a.k, end);
        tile_a[of_a.k][of_a.line] = a_patch[0];
        tile_a[of_a.k + 1u][of_a.line] = a_patch[1];
        tile_a[of_a.k + 2u][of_a.line] = a_patch[2];
        tile_a[of_a.k + 3u][of_a.line] = a_patch[3];
        let b_at = places(of_b, b_along_k, p.b_step, k + of_b.k, end);
        let b_read = mat4x4f(read_b(b_at.x), read_b(b_at.y), read_b(b_at.z), read_b(b_at.w));
        let b_patch = whole_patch(b_read, b_along_k, k + of_b.k, end);
        tile_b[of_b.k][of_b.line] = b_patch[0];
        tile_b[of_b.k + 1u][of_b.line] = b_patch[1];
        tile_b[of_b.k + 2u][of_b.line] = b_patch[2];
        tile_b[of_b.k + 3u][of_b.line] = b_patch[3];
        workgroupBarrier();
        multiply_tile(lane / 8u, lane % 8u);
    }
    store_sums(output_of(part), i + lane / 8u * 4u, j + lane % 8u * 4u);
}
