// d_logits of route.wgsl: through the softmax over the chosen and, where there is a pull, through that over all experts.
// d_gates, gates, chosen: (t, k); logits, d_logits: (t, e); pull: (e); targets: (t), a negative one counts for nothing.
// A lane takes a token: experts are few.
//! lib: grid

struct Params {
    tokens: u32,
    experts: u32,
    k: u32,
    has_pull: u32,
    d_gates_offset: u32,
    gates_offset: u32,
    chosen_offset: u32,
    logits_offset: u32,
    pull_offset: u32,
    targets_offset: u32,
    d_logits_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> d_gates: array<f32>;
@group(0) @binding(2) var<storage, read_write> gates: array<f32>;
@group(0) @binding(3) var<storage, read_write> chosen: array<i32>;
@group(0) @binding(4) var<storage, read_write> logits: array<f32>;
@group(0) @binding(5) var<storage, read_write> pull: array<f32>;
@group(0) @binding(6) var<storage, read_write> targets: array<i32>;
@group(0) @binding(7) var<storage, read_write> d_logits: array<f32>;

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
    let out = p.d_logits_offset + token * p.experts;
    let few = token * p.k;
    for (var j = 0u; j < p.experts; j++) {
        d_logits[out + j] = 0.0;
    }
    var counts = p.has_pull == 1u;
    if (counts) {
        counts = targets[p.targets_offset + token] >= 0;
    }
    if (counts) {
        let highest = logits[row + u32(chosen[p.chosen_offset + few])];
        var total = 0.0;
        var mean = 0.0;
        for (var j = 0u; j < p.experts; j++) {
            let chance = exp(logits[row + j] - highest);
            d_logits[out + j] = chance;
            total += chance;
            mean += chance * pull[p.pull_offset + j];
        }
        mean /= total;
        for (var j = 0u; j < p.experts; j++) {
            d_logits[out + j] *= (pull[p.pull_offset + j] - mean) / total;
        }
    }
    var dot = 0.0;
    for (var c = 0u; c < p.k; c++) {
        dot += gates[p.gates_offset + few + c] * d_gates[p.d_gates_offset + few + c];
    }
    for (var c = 0u; c < p.k; c++) {
        let gate = gates[p.gates_offset + few + c];
        d_logits[out + u32(chosen[p.chosen_offset + few + c])] += gate * (d_gates[p.d_gates_offset + few + c] - dot);
    }
}
