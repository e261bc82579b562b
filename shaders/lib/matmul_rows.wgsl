// The product for up to 4 rows of a, as in decoding: c (i,j) = sum over k of a (i,k) * b (j,k).  What counts is to
// read b once.  A workgroup computes 8 columns; its lanes share out k, so neighbours read neighbours where b lies
// along k, then add up their sums in workgroup memory: eight lanes' sums at a time, then these, always in that order.
//
// The shader that includes this has b in its own format, and `weights(columns, k)` for four elements of it.

override lanes: u32 = 64u;
override slots: u32 = 576u; // 9 * lanes

@group(0) @binding(1) var<storage, read_write> a: array<f32>;

var<workgroup> partial: array<f32, slots>; // [lane][column], nine apart: no two lanes on the same bank
var<workgroup> eighths: array<f32, lanes>; // [lane / 8][column]

struct Sums {
    low: vec4f,
    high: vec4f,
}

fn add_row(sums: ptr<function, Sums>, row: u32, k: u32, low: vec4f, high: vec4f) {
    // The branch is the same for all lanes; without it one row would cost four reads of a.
    if (row < p.m) {
        let x = a[p.a_offset + row * p.a_row + k * p.a_step];
        (*sums).low += x * low;
        (*sums).high += x * high;
    }
}

@compute @workgroup_size(lanes)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) groups: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let first = (group.y * groups.x + group.x) * 8u;
    let column = vec4u(first) + vec4u(0u, 1u, 2u, 3u);
    let low = min(column, vec4u(p.n - 1u));
    let high = min(column + 4u, vec4u(p.n - 1u));
    var row0 = Sums();
    var row1 = Sums();
    var row2 = Sums();
    var row3 = Sums();
    for (var k = lane; k < p.k; k += lanes) {
        let y_low = weights(low, k);
        let y_high = weights(high, k);
        add_row(&row0, 0u, k, y_low, y_high);
        add_row(&row1, 1u, k, y_low, y_high);
        add_row(&row2, 2u, k, y_low, y_high);
        add_row(&row3, 3u, k, y_low, y_high);
    }
    for (var row = 0u; row < p.m; row++) {
        let at = lane * 9u;
        partial[at] = row0.low.x;
        partial[at + 1u] = row0.low.y;
        partial[at + 2u] = row0.low.z;
        partial[at + 3u] = row0.low.w;
        partial[at + 4u] = row0.high.x;
        partial[at + 5u] = row0.high.y;
        partial[at + 6u] = row0.high.z;
        partial[at + 7u] = row0.high.w;
        workgroupBarrier();
        let from_lane = lane / 8u * 72u + lane % 8u;
        eighths[lane] = (
            (partial[from_lane] + partial[from_lane + 9u])
            + (partial[from_lane + 18u] + partial[from_lane + 27u])
        ) + (
            (partial[from_lane + 36u] + partial[from_lane + 45u])
            + (partial[from_lane + 54u] + partial[from_lane + 63u])
        );
        workgroupBarrier();
        if (lane < 8u) {
            var sum = eighths[lane];
            for (var other = lane + 8u; other < lanes; other += 8u) {
                sum += eighths[other];
            }
            store(row, first + lane, sum);
        }
        row0 = row1;
        row1 = row2;
        row2 = row3;
    }
}
