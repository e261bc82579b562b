// top_k for GPUs, second level: the k best of a row from those of its parts, which top_k_parts has left in order.  One
// workgroup per row, a lane for a part: it holds the next of its part, and moves on when that was the best of all.
// best: (rows, 1 + 2k), as in top_k.
//! lib: grid reduce best

const LANES = 256u;
const ROOT = 16u;

struct Params {
    rows: u32,
    width: u32,
    k: u32,
    parts: u32,
    scratch_offset: u32,
    best_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> scratch: array<u32>;
@group(0) @binding(2) var<storage, read_write> best: array<f32>;

fn candidate(part: u32, place: u32) -> Best {
    if (place >= p.k) {
        return NOTHING;
    }
    return Best(bitcast<f32>(scratch[part + 2u + place]), scratch[part + 2u + p.k + place]);
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let row = flat_group(group, grid);
    if (row >= p.rows) {
        return;
    }
    let part = p.scratch_offset + (row * p.parts + lane) * (2u + 2u * p.k);
    let result = p.best_offset + row * (1u + 2u * p.k);
    var next = 0u;
    var own = NOTHING;
    if (lane < p.parts) {
        own = candidate(part, next);
    }
    var largest = 0.0;
    for (var place = 0u; place < p.k; place++) {
        let found = best_over_lanes(own, lane);
        let there = found.index < p.width;
        if (place == 0u) {
            largest = found.value;
        }
        if (lane == 0u) {
            best[result + 1u + place] = select(0.0, found.value, there);
            best[result + 1u + p.k + place] = select(-1.0, f32(found.index), there);
        }
        if (there && own.index == found.index) {
            next += 1u;
            own = candidate(part, next);
        }
    }
    var sum = 0.0;
    if (lane < p.parts) {
        sum = bitcast<f32>(scratch[part + 1u]) * exp(bitcast<f32>(scratch[part]) - largest);
    }
    let all = sum_over_lanes(sum, lane);
    if (lane == 0u) {
        best[result] = log(all) + largest;
    }
}
