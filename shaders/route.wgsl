// chosen = the k largest of each row of logits, equal ones by index; gates = the softmax over these k.
// logits: (t, e); chosen, gates: (t, k).  A lane takes a token: experts are few, and each round finds the largest that
// comes after the one found last, so nothing has to be marked.
//! lib: grid

struct Params {
    tokens: u32,
    experts: u32,
    k: u32,
    logits_offset: u32,
    chosen_offset: u32,
    gates_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> logits: array<f32>;
@group(0) @binding(2) var<storage, read_write> chosen: array<i32>;
@group(0) @binding(3) var<storage, read_write> gates: array<f32>;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let token = flat_group(group, grid) * 64u + lane;
    if (token >= p.tokens) {
        return;
    }
    let row = p.logits_offset + token * p.experts;
    let out = token * p.k;
    var last_value = 0.0;
    var last = 0u;
    var highest = 0.0;
    var sum = 0.0;
    for (var c = 0u; c < p.k; c++) {
        var best = p.experts;
        var value = 0.0;
        for (var j = 0u; j < p.experts; j++) {
            let x = logits[row + j];
            let comes_later = c == 0u || x < last_value || (x == last_value && j > last);
            if (comes_later && (best == p.experts || x > value)) {
                best = j;
                value = x;
            }
        }
        best = select(best, 0u, best == p.experts);  // a row of NaN
        last = best;
        last_value = logits[row + best];
        highest = select(highest, last_value, c == 0u);
        let gate = exp(last_value - highest);
        chosen[p.chosen_offset + out + c] = i32(best);
        gates[p.gates_offset + out + c] = gate;
        sum += gate;
    }
    for (var c = 0u; c < p.k; c++) {
        gates[p.gates_offset + out + c] /= sum;
    }
}
