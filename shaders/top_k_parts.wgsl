// top_k for GPUs, first of two levels: of each 4,096 values of a row the k best in falling order (equal ones by index), and
// what top_k_merge needs for the logarithm of the sum of the exponentials.  A lane keeps 16 values in registers, so that
// the k rounds read nothing again.  scratch: (rows, parts, 2 + 2k) words: largest, sum relative to it, values, indices.
//! lib: grid reduce best

const LANES = 256u;
const ROOT = 16u;
const PART = 4096u;

struct Params {
    rows: u32,
    width: u32,
    k: u32,
    parts: u32,
    logits_offset: u32,
    scratch_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> logits: array<f32>;
@group(0) @binding(2) var<storage, read_write> scratch: array<u32>;

fn value_at(row: u32, j: u32) -> f32 {
    if (j >= p.width) {
        return NOTHING.value;
    }
    return logits[p.logits_offset + row * p.width + j];
}

fn values_at(row: u32, j: u32) -> vec4f {
    return vec4f(
        value_at(row, j), value_at(row, j + LANES), value_at(row, j + 2u * LANES), value_at(row, j + 3u * LANES),
    );
}

fn after(place: u32, last: Best, value: f32, j: u32, best: Best) -> Best {
    let next = place == 0u || value < last.value || (value == last.value && j > last.index);
    if (j < p.width && next) {
        return better(Best(value, j), best);
    }
    return best;
}

// The best of four values, LANES apart, and `best`, that comes after `last`; in place 0 any may.
fn after4(place: u32, last: Best, values: vec4f, j: u32, best: Best) -> Best {
    var found = after(place, last, values.x, j, best);
    found = after(place, last, values.y, j + LANES, found);
    found = after(place, last, values.z, j + 2u * LANES, found);
    return after(place, last, values.w, j + 3u * LANES, found);
}

fn exponentials(values: vec4f, j: u32, largest: f32) -> f32 {
    let there = vec4u(j, j + LANES, j + 2u * LANES, j + 3u * LANES) < vec4u(p.width);
    let terms = select(vec4f(), exp(values - largest), there);
    return (terms.x + terms.y) + (terms.z + terms.w);
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let unit = flat_group(group, grid);
    if (unit >= p.rows * p.parts) {
        return;
    }
    let row = unit / p.parts;
    let j = unit % p.parts * PART + lane;
    let values0 = values_at(row, j);
    let values1 = values_at(row, j + 4u * LANES);
    let values2 = values_at(row, j + 8u * LANES);
    let values3 = values_at(row, j + 12u * LANES);
    let result = p.scratch_offset + unit * (2u + 2u * p.k);
    var last = NOTHING;
    var largest = 0.0;
    for (var place = 0u; place < p.k; place++) {
        var own = after4(place, last, values0, j, NOTHING);
        own = after4(place, last, values1, j + 4u * LANES, own);
        own = after4(place, last, values2, j + 8u * LANES, own);
        own = after4(place, last, values3, j + 12u * LANES, own);
        last = best_over_lanes(own, lane);
        if (place == 0u) {
            largest = last.value;
        }
        if (lane == 0u) {
            scratch[result + 2u + place] = bitcast<u32>(last.value);
            scratch[result + 2u + p.k + place] = last.index;
        }
    }
    let sum = exponentials(values0, j, largest) + exponentials(values1, j + 4u * LANES, largest)
        + exponentials(values2, j + 8u * LANES, largest) + exponentials(values3, j + 12u * LANES, largest);
    let all = sum_over_lanes(sum, lane);
    if (lane == 0u) {
        scratch[result] = bitcast<u32>(largest);
        scratch[result + 1u] = bitcast<u32>(all);
    }
}
