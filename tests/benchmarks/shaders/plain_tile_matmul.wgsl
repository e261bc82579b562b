// The plain tiled product, as the forerunners have it: the yardstick that the real kernels are measured against. c
// (i,j) = sum over k of a (i,k) * b (j,k), where both operands are given by the distance between two rows and between
// two k, so that the same shader is nt, nn and tn.  One workgroup a 16 x 16 tile, one output a lane, both 16 x 16
// operand tiles in workgroup memory, no register blocks.  Not part of the engine: only tests/benchmarks runs it.

struct Params {
    m: u32,
    n: u32,
    k: u32,
    a_row: u32,
    a_step: u32,
    b_row: u32,
    b_step: u32,
    c_stride: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> a: array<f32>;
@group(0) @binding(2) var<storage, read_write> b: array<f32>;
@group(0) @binding(3) var<storage, read_write> c: array<f32>;

var<workgroup> tile_a: array<f32, 256>;
var<workgroup> tile_b: array<f32, 256>;

@compute @workgroup_size(16, 16)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) lane: vec3u) {
    let i = group.y * 16u + lane.y;
    let j = group.x * 16u + lane.x;
    var sum = 0.0;
    for (var k0 = 0u; k0 < p.k; k0 += 16u) {
        // a as (row, k), b as (k, column)
        let a_k = k0 + lane.x;
        let b_k = k0 + lane.y;
        var a_value = 0.0;
        var b_value = 0.0;
        if (i < p.m && a_k < p.k) {
            a_value = a[i * p.a_row + a_k * p.a_step];
        }
        if (j < p.n && b_k < p.k) {
            b_value = b[j * p.b_row + b_k * p.b_step];
        }
        tile_a[lane.y * 16u + lane.x] = a_value;
        tile_b[lane.y * 16u + lane.x] = b_value;
        workgroupBarrier();
        for (var k = 0u; k < 16u; k++) {
            sum += tile_a[lane.y * 16u + k] * tile_b[k * 16u + lane.x];
        }
        workgroupBarrier();
    }
    if (i < p.m && j < p.n) {
        c[i * p.c_stride + j] = sum;
    }
}
