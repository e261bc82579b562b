// statistics[1] = gradient norm = sqrt(sum of partials).  partials: (count); statistics: (16).  One workgroup.
//! lib: reduce

const LANES = 256u;
const ROOT = 16u;

struct Params {
    count: u32,
    partials_offset: u32,
    norm_at: u32,  // slot
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> partials: array<f32>;
@group(0) @binding(2) var<storage, read_write> statistics: array<f32>;

@compute @workgroup_size(LANES)
fn main(@builtin(local_invocation_index) lane: u32) {
    var sum = 0.0;
    for (var i = lane; i < p.count; i += LANES) {
        sum += partials[p.partials_offset + i];
    }
    let norm = sqrt(sum_over_lanes(sum, lane));
    if (lane == 0u) {
        statistics[p.norm_at] = norm;
    }
}
