// The product that the SSD shaders have in common: a workgroup of 64 lanes adds up 64 lines x 32 columns, 8 x 4 a lane,
// over steps of 16 k in workgroup memory (6 KiB).  A lane's lines are row*4 .. row*4+3 and, 32 below, 4 more.
//
// What goes in are patches of 4 x 4: column q of one holds four neighbouring lines (or columns) at k + q.  A shader
// makes the left patch with every lane and the right one with lanes 0 .. 31, at the places that left_place and
// right_place give, in numbers.  Lines and columns past the last may hold anything, even NaN, since their sums are not
// used; at a k past the last both patches have to be zero.

var<workgroup> left_tile: array<vec4f, 256>;  // [k][line / 4]
var<workgroup> right_tile: array<vec4f, 128>;  // [k][column / 4]
var<private> upper: mat4x4f;  // column r: the four sums of line row*4 + r
var<private> lower: mat4x4f;

// (line, k) of a lane's patch: neighbours go along memory, which is along k, or else from line to line.
fn left_place(lane: u32, along_k: bool) -> vec2u {
    return 4u * select(vec2u(lane % 16u, lane / 16u), vec2u(lane / 4u, lane % 4u), along_k);
}

fn right_place(lane: u32, along_k: bool) -> vec2u {
    return 4u * select(vec2u(lane % 8u, lane / 8u), vec2u(lane / 4u, lane % 4u), along_k);
}

fn put_left(place: vec2u, values: mat4x4f) {
    let at = place.y * 16u + place.x / 4u;
    left_tile[at] = values[0];
    left_tile[at + 16u] = values[1];
    left_tile[at + 32u] = values[2];
    left_tile[at + 48u] = values[3];
}

fn put_right(place: vec2u, values: mat4x4f) {
    let at = place.y * 8u + place.x / 4u;
    right_tile[at] = values[0];
    right_tile[at + 8u] = values[1];
    right_tile[at + 16u] = values[2];
    right_tile[at + 24u] = values[3];
}

// The patch with zeros from `limit` on; k is that of its first column.
fn cut(values: mat4x4f, k: u32, limit: u32) -> mat4x4f {
    let none = vec4f();
    return mat4x4f(
        select(none, values[0], k < limit),
        select(none, values[1], k + 1u < limit),
        select(none, values[2], k + 2u < limit),
        select(none, values[3], k + 3u < limit),
    );
}

fn each_line(values: mat4x4f, factors: vec4f) -> mat4x4f {
    return mat4x4f(values[0] * factors, values[1] * factors, values[2] * factors, values[3] * factors);
}

fn each_k(values: mat4x4f, factors: vec4f) -> mat4x4f {
    return mat4x4f(values[0] * factors.x, values[1] * factors.y, values[2] * factors.z, values[3] * factors.w);
}

fn outer(a: vec4f, b: vec4f) -> mat4x4f {
    return mat4x4f(a.x * b, a.y * b, a.z * b, a.w * b);
}

fn clear_sums() {
    upper = mat4x4f();
    lower = mat4x4f();
}

// Adds the products of the tiles.  To be called by all lanes, after the patches are put.
fn add_products(lane: u32) {
    workgroupBarrier();
    let row = lane / 8u;
    let column = lane % 8u;
    for (var k = 0u; k < 16u; k += 4u) {
        let a = k * 16u + row;
        let b = k * 8u + column;
        upper += outer(left_tile[a], right_tile[b]);
        lower += outer(left_tile[a + 8u], right_tile[b]);
        upper += outer(left_tile[a + 16u], right_tile[b + 8u]);
        lower += outer(left_tile[a + 24u], right_tile[b + 8u]);
        upper += outer(left_tile[a + 32u], right_tile[b + 16u]);
        lower += outer(left_tile[a + 40u], right_tile[b + 16u]);
        upper += outer(left_tile[a + 48u], right_tile[b + 24u]);
        lower += outer(left_tile[a + 56u], right_tile[b + 24u]);
    }
    workgroupBarrier();
}

// The line and the sums of the lane's r-th of eight lines.
fn line_of(r: u32, lane: u32) -> u32 {
    return lane / 8u * 4u + r % 4u + r / 4u * 32u;
}

// Takes the sums of the next line, r by r: the matrices queue up, since an index into one would be slow.
fn next_line() -> vec4f {
    let sums = upper[0];
    upper = mat4x4f(upper[1], upper[2], upper[3], lower[0]);
    lower = mat4x4f(lower[1], lower[2], lower[3], vec4f());
    return sums;
}

// Puts a line that was taken behind the others: after all eight they are as they were.
fn return_line(sums: vec4f) {
    lower[3] = sums;
}
