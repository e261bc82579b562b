// best[i] = the logarithm of the sum of the exponentials of row i, its k largest in falling order (equal ones by index)
// and their indices, 0 and -1 past the end of a short row.  logits: (rows, v); best: (rows, 1 + 2k).
// One workgroup per row.  Each round finds what comes next after the one found last, so nothing has to be marked; k rounds
// over a row in the cache cost less than sorting it.
//! lib: grid reduce best

const LANES = 256u;
const ROOT = 16u;

struct Params {
    rows: u32,
    width: u32,
    k: u32,
    logits_offset: u32,
    best_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> logits: array<f32>;
@group(0) @binding(2) var<storage, read_write> best: array<f32>;

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
    let begin = p.logits_offset + row * p.width;
    let result = p.best_offset + row * (1u + 2u * p.k);
    var last = NOTHING;
    var largest = 0.0;
    for (var place = 0u; place < p.k; place++) {
        var own = NOTHING;
        for (var j = lane; j < p.width; j += LANES) {
            let value = logits[begin + j];
            if (place == 0u || value < last.value || (value == last.value && j > last.index)) {
                own = better(Best(value, j), own);
            }
        }
        last = best_over_lanes(own, lane);
        let there = last.index < p.width;
        if (place == 0u) {
            largest = last.value;
        }
        if (lane == 0u) {
            best[result + 1u + place] = select(0.0, last.value, there);
            best[result + 1u + p.k + place] = select(-1.0, f32(last.index), there);
        }
    }
    var sum = 0.0;
    for (var j = lane; j < p.width; j += LANES) {
        sum += exp(logits[begin + j] - largest);
    }
    let all = sum_over_lanes(sum, lane);
    if (lane == 0u) {
        best[result] = log(all) + largest;
    }
}
