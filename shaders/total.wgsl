// y[0] = sum of x.  x: (count).  One workgroup: x holds a loss per token, and one workgroup adds in one order.
//! lib: reduce

const LANES = 256u;
const ROOT = 16u;

struct Params {
    count: u32,
    x_offset: u32,
    y_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(LANES)
fn main(@builtin(local_invocation_index) lane: u32) {
    var sum = 0.0;
    for (var i = lane; i < p.count; i += LANES) {
        sum += x[p.x_offset + i];
    }
    let all = sum_over_lanes(sum, lane);
    if (lane == 0u) {
        y[p.y_offset] = all;
    }
}
