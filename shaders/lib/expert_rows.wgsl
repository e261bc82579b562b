// A few rows with the matrix of one expert each, as in decoding: c (r, j) = inputs (r / share) . b[chosen (r)] (j).  Only
// the matrices of experts that were chosen are read.  A workgroup computes 8 columns of one row; its lanes share out i, so
// neighbours read neighbours, then add up their sums in workgroup memory, always in the order of the lanes.
//
// The shader that includes this has b in its own format, and `weight(row, i)` for an element of it.

override lanes: u32 = 64u;
override slots: u32 = 512u; // 8 * lanes

struct Params {
    rows: u32,
    width: u32,   // i
    columns: u32, // j
    share: u32,   // rows of c that have a row of inputs together
    inputs_offset: u32,
    b_offset: u32,
    b_row: u32,
    chosen_offset: u32,
    c_offset: u32,
    scales_offset: u32,
    scales_row: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> inputs: array<f32>;
@group(0) @binding(3) var<storage, read_write> chosen: array<i32>;
@group(0) @binding(4) var<storage, read_write> c: array<f32>;

var<workgroup> partial: array<f32, slots>; // [column][lane]

@compute @workgroup_size(lanes)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let blocks = (p.columns + 7u) / 8u;
    let flat = flat_group(group, grid);
    let row = flat / blocks;
    if (row >= p.rows) {
        return;
    }
    let first = flat % blocks * 8u;
    let expert = u32(chosen[p.chosen_offset + row]) * p.columns;
    let from_row = p.inputs_offset + row / p.share * p.width;
    for (var column = 0u; column < 8u; column++) {
        let b_row = expert + min(first + column, p.columns - 1u);
        var sum = 0.0;
        for (var i = lane; i < p.width; i += lanes) {
            sum += inputs[from_row + i] * weight(b_row, i);
        }
        partial[column * lanes + lane] = sum;
    }
    workgroupBarrier();
    if (lane < 8u && first + lane < p.columns) {
        var sum = 0.0;
        for (var other = 0u; other < lanes; other++) {
            sum += partial[lane * lanes + other];
        }
        c[p.c_offset + row * p.columns + first + lane] = sum;
    }
}
