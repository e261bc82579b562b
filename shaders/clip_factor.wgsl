// statistics[2] = min(1, max_norm / norm) with the norm in statistics[1], 1 where max_norm is 0, or 0 (the optimiser then
// changes nothing) where the norm or the loss in statistics[0] is not finite.  partials: (count); scalars, statistics:
// (16).  One workgroup.  Finiteness is read from bits that were loaded: a compiler may assume that the floats that it
// computes are finite, so the norm comes from gradient_norm, a dispatch before.
//! lib: reduce float_bits

const LANES = 256u;
const ROOT = 16u;

struct Params {
    count: u32,
    partials_offset: u32,
    max_norm_at: u32,  // slots
    loss_at: u32,
    norm_at: u32,
    factor_at: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> partials: array<u32>;
@group(0) @binding(2) var<storage, read_write> scalars: array<f32>;
@group(0) @binding(3) var<storage, read_write> statistics: array<u32>;

@compute @workgroup_size(LANES)
fn main(@builtin(local_invocation_index) lane: u32) {
    var own = 0.0;
    for (var i = lane; i < p.count; i += LANES) {
        if (not_finite(partials[p.partials_offset + i])) {
            own = 1.0;
        }
    }
    let bad = max_over_lanes(own, lane);
    if (lane == 0u) {
        let norm_bits = statistics[p.norm_at];
        let norm = bitcast<f32>(norm_bits);
        let max_norm = scalars[p.max_norm_at];
        var factor = 1.0;
        if (max_norm > 0.0 && norm > max_norm) {
            factor = max_norm / norm;
        }
        if (bad > 0.0 || not_finite(norm_bits) || not_finite(statistics[p.loss_at])) {
            factor = 0.0;
        }
        statistics[p.factor_at] = bitcast<u32>(factor);
    }
}
