// A block of 16 x 16 sums that one lane keeps, as 16 little matrices (column r of `cRS` is row 4R+r, its component s
// column 4S+s), and the reading of 16 numbers of a or b.  Everything is spelled out: a private array would be indexed
// at run time and live in memory, and naga guards every loop.

@group(0) @binding(1) var<storage, read_write> a: array<f32>;
@group(0) @binding(2) var<storage, read_write> b: array<f32>;

struct Sixteen {
    v0: vec4f,
    v1: vec4f,
    v2: vec4f,
    v3: vec4f,
}

struct Places {
    v0: vec4u,
    v1: vec4u,
    v2: vec4u,
    v3: vec4u,
}

struct Block {
    c00: mat4x4f,
    c01: mat4x4f,
    c02: mat4x4f,
    c03: mat4x4f,
    c10: mat4x4f,
    c11: mat4x4f,
    c12: mat4x4f,
    c13: mat4x4f,
    c20: mat4x4f,
    c21: mat4x4f,
    c22: mat4x4f,
    c23: mat4x4f,
    c30: mat4x4f,
    c31: mat4x4f,
    c32: mat4x4f,
    c33: mat4x4f,
}

// Where lines first .. first+15 begin; lines past the last one read the last one, and their sums are never stored.
fn places(offset: u32, first: u32, lines: u32, distance: u32) -> Places {
    let line = vec4u(first) + vec4u(0u, 1u, 2u, 3u);
    let last = vec4u(lines - 1u);
    return Places(
        offset + min(line, last) * distance,
        offset + min(line + 4u, last) * distance,
        offset + min(line + 8u, last) * distance,
        offset + min(line + 12u, last) * distance,
    );
}

fn a4(at: vec4u) -> vec4f {
    return vec4f(a[at.x], a[at.y], a[at.z], a[at.w]);
}

fn b4(at: vec4u) -> vec4f {
    return vec4f(b[at.x], b[at.y], b[at.z], b[at.w]);
}

fn a16(at: Places, step: u32) -> Sixteen {
    return Sixteen(a4(at.v0 + step), a4(at.v1 + step), a4(at.v2 + step), a4(at.v3 + step));
}

fn b16(at: Places, step: u32) -> Sixteen {
    return Sixteen(b4(at.v0 + step), b4(at.v1 + step), b4(at.v2 + step), b4(at.v3 + step));
}

fn outer(x: vec4f, y: vec4f) -> mat4x4f {
    return mat4x4f(x.x * y, x.y * y, x.z * y, x.w * y);
}

fn add_outer(block: ptr<function, Block>, x: Sixteen, y: Sixteen) {
    (*block).c00 += outer(x.v0, y.v0);
    (*block).c01 += outer(x.v0, y.v1);
    (*block).c02 += outer(x.v0, y.v2);
    (*block).c03 += outer(x.v0, y.v3);
    (*block).c10 += outer(x.v1, y.v0);
    (*block).c11 += outer(x.v1, y.v1);
    (*block).c12 += outer(x.v1, y.v2);
    (*block).c13 += outer(x.v1, y.v3);
    (*block).c20 += outer(x.v2, y.v0);
    (*block).c21 += outer(x.v2, y.v1);
    (*block).c22 += outer(x.v2, y.v2);
    (*block).c23 += outer(x.v2, y.v3);
    (*block).c30 += outer(x.v3, y.v0);
    (*block).c31 += outer(x.v3, y.v1);
    (*block).c32 += outer(x.v3, y.v2);
    (*block).c33 += outer(x.v3, y.v3);
}

fn rows_up(upper: mat4x4f, lower: mat4x4f) -> mat4x4f {
    return mat4x4f(upper[1], upper[2], upper[3], lower[0]);
}

// One row is stored, then all rows move up by one: the code for storing a row appears once, not 16 times, and a CPU
// driver compiles it several times faster.  The moves cost nothing next to the loop over k.
fn store_block(block: ptr<function, Block>, i: u32, j: u32) {
    for (var r = 0u; r < 16u; r++) {
        store4(i + r, j, (*block).c00[0]);
        store4(i + r, j + 4u, (*block).c01[0]);
        store4(i + r, j + 8u, (*block).c02[0]);
        store4(i + r, j + 12u, (*block).c03[0]);
        (*block).c00 = rows_up((*block).c00, (*block).c10);
        (*block).c01 = rows_up((*block).c01, (*block).c11);
        (*block).c02 = rows_up((*block).c02, (*block).c12);
        (*block).c03 = rows_up((*block).c03, (*block).c13);
        (*block).c10 = rows_up((*block).c10, (*block).c20);
        (*block).c11 = rows_up((*block).c11, (*block).c21);
        (*block).c12 = rows_up((*block).c12, (*block).c22);
        (*block).c13 = rows_up((*block).c13, (*block).c23);
        (*block).c20 = rows_up((*block).c20, (*block).c30);
        (*block).c21 = rows_up((*block).c21, (*block).c31);
        (*block).c22 = rows_up((*block).c22, (*block).c32);
        (*block).c23 = rows_up((*block).c23, (*block).c33);
        (*block).c30 = rows_up((*block).c30, mat4x4f());
        (*block).c31 = rows_up((*block).c31, mat4x4f());
        (*block).c32 = rows_up((*block).c32, mat4x4f());
        (*block).c33 = rows_up((*block).c33, mat4x4f());
    }
}
