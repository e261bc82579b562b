// A tile of 32 x 32 numbers of one expert's product, by 64 lanes with 4 x 4 each, over steps of 16 k in workgroup memory
// (4 KiB): c (i, j) = alpha * the sum over k of a (i, k) * b (j, k).  Each operand has a distance of two lines and one
// of two k, which makes all layouts the same product.  How long an expert's lines or sums are is known only here, so a
// workgroup has its own `m`, `k` and beginnings.

struct Params {
    experts: u32,
    m: u32,          // lines of a: only where they are columns of the expert's rows
    n: u32,
    k: u32,          // terms of a sum: only where they are not the expert's rows
    flags: u32,
    alpha: f32,
    tiles: u32,      // of all experts' lines
    tiles_across: u32,
    a_offset: u32,
    a_row: u32,
    a_step: u32,
    b_offset: u32,
    b_row: u32,
    b_step: u32,
    c_offset: u32,
    c_row: u32,
    starts_offset: u32,
}

const ACCUMULATE = 1u;

struct Group {
    m: u32,
    k: u32,
    a: u32,
    b: u32,
    c: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> a: array<f32>;
@group(0) @binding(2) var<storage, read_write> b: array<f32>;
@group(0) @binding(3) var<storage, read_write> starts: array<i32>;
@group(0) @binding(4) var<storage, read_write> c: array<f32>;

var<workgroup> tile_a: array<vec4f, 128>; // [k][line / 4]
var<workgroup> tile_b: array<vec4f, 128>;
var<workgroup> shared_k: u32;

fn start_of(expert: u32) -> u32 {
    return u32(starts[p.starts_offset + expert]);
}

// Four neighbouring lines at one k, the last one again for those past it, whose sums are never stored; zero past the last
// k, in both operands, so that rubbish times zero cannot become NaN.  Written out: llvmpipe counts the turns of all loops.
fn four_of_a(own: Group, i: u32, k: u32) -> vec4f {
    let at = own.a + min(vec4u(i, i + 1u, i + 2u, i + 3u), vec4u(own.m - 1u)) * p.a_row + min(k, own.k - 1u) * p.a_step;
    return select(vec4f(), vec4f(a[at.x], a[at.y], a[at.z], a[at.w]), k < own.k);
}

fn four_of_b(own: Group, j: u32, k: u32) -> vec4f {
    let at = own.b + min(vec4u(j, j + 1u, j + 2u, j + 3u), vec4u(p.n - 1u)) * p.b_row + min(k, own.k - 1u) * p.b_step;
    return select(vec4f(), vec4f(b[at.x], b[at.y], b[at.z], b[at.w]), k < own.k);
}

fn grouped_tile(own: Group, i: u32, j: u32, lane: u32) {
    let row = lane / 8u;
    let column = lane % 8u;
    var sum0 = vec4f();
    var sum1 = vec4f();
    var sum2 = vec4f();
    var sum3 = vec4f();
    if (lane == 0u) {
        shared_k = own.k;
    }
    let last = workgroupUniformLoad(&shared_k); // the same for all lanes, which the compiler has to see
    for (var k = 0u; k < last; k += 16u) {
        tile_a[lane] = four_of_a(own, i + column * 4u, k + row);
        tile_b[lane] = four_of_b(own, j + column * 4u, k + row);
        tile_a[lane + 64u] = four_of_a(own, i + column * 4u, k + row + 8u);
        tile_b[lane + 64u] = four_of_b(own, j + column * 4u, k + row + 8u);
        workgroupBarrier();
        for (var at = 0u; at < 128u; at += 8u) {
            let x = tile_a[at + row];
            let y = tile_b[at + column];
            sum0 += x.x * y;
            sum1 += x.y * y;
            sum2 += x.z * y;
            sum3 += x.w * y;
        }
        workgroupBarrier();
    }
    store_four(own, i + row * 4u, j + column * 4u, sum0);
    store_four(own, i + row * 4u + 1u, j + column * 4u, sum1);
    store_four(own, i + row * 4u + 2u, j + column * 4u, sum2);
    store_four(own, i + row * 4u + 3u, j + column * 4u, sum3);
}

fn store_four(own: Group, i: u32, j: u32, sums: vec4f) {
    store(own, i, j, sums.x);
    store(own, i, j + 1u, sums.y);
    store(own, i, j + 2u, sums.z);
    store(own, i, j + 3u, sums.w);
}

fn store(own: Group, i: u32, j: u32, sum: f32) {
    if (i < own.m && j < p.n) {
        let at = own.c + i * p.c_row + j;
        var value = p.alpha * sum;
        if ((p.flags & ACCUMULATE) != 0u) {
            value += c[at];
        }
        c[at] = value;
    }
}
