// statistics[1] = gradient norm = sqrt(sum of partials); statistics[2] = min(1, max_norm / norm), 1 where max_norm is
// 0, or 0 (the optimiser then changes nothing) where the norm or the loss in statistics[0] is not finite.
// partials: (count); scalars, statistics: (16).  One workgroup.  Finiteness is read from the bits: a compiler may
// assume that floats are finite.
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
    var sum = 0.0;
    var bad = 0.0;
    for (var i = lane; i < p.count; i += LANES) {
        let bits = partials[p.partials_offset + i];
        if (not_finite(bits)) {
            bad = 1.0;
        }
        sum += bitcast<f32>(bits);
    }
    let norm = sqrt(sum_over_lanes(sum, lane));
    bad = max_over_lanes(bad, lane);
    if (lane == 0u) {
        let max_norm = scalars[p.max_norm_at];
        var factor = 1.0;
        if (max_norm > 0.0 && norm > max_norm) {
            factor = max_norm / norm;
        }
        if (bad > 0.0 || not_finite(bitcast<u32>(norm)) || not_finite(statistics[p.loss_at])) {
            factor = 0.0;
        }
        statistics[p.norm_at] = bitcast<u32>(norm);
        statistics[p.factor_at] = bitcast<u32>(factor);
    }
}
