// Over each block of rows, without tokens whose target is negative: counts of choices, sums of the softmax over all
// experts and, last, the number of tokens.  logits: (t, e); chosen: (t, k); targets: (t); counts: (p, e);
// chances: (p, e + 1).
// A workgroup takes a block of rows and a lane an expert (and every 64th after it), which adds up in the order of tokens.
//! lib: grid

struct Params {
    tokens: u32,
    experts: u32,
    k: u32,
    parts: u32,
    rows: u32,  // of a block
    logits_offset: u32,
    chosen_offset: u32,
    targets_offset: u32,
    counts_offset: u32,
    chances_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> logits: array<f32>;
@group(0) @binding(2) var<storage, read_write> chosen: array<i32>;
@group(0) @binding(3) var<storage, read_write> targets: array<i32>;
@group(0) @binding(4) var<storage, read_write> counts: array<f32>;
@group(0) @binding(5) var<storage, read_write> chances: array<f32>;

fn chance_of(row: u32, expert: u32, highest: f32) -> f32 {
    var total = 0.0;
    for (var j = 0u; j < p.experts; j++) {
        total += exp(logits[row + j] - highest);
    }
    return exp(logits[row + expert] - highest) / total;
}

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let part = flat_group(group, grid);
    if (part >= p.parts) {
        return;
    }
    let begin = part * p.rows;
    let end = min(begin + p.rows, p.tokens);
    for (var expert = lane; expert < p.experts + 1u; expert += 64u) {
        var count = 0.0;
        var chance = 0.0;
        for (var token = begin; token < end; token++) {
            if (targets[p.targets_offset + token] < 0) {
                continue;
            }
            if (expert == p.experts) {
                chance += 1.0;
                continue;
            }
            let few = p.chosen_offset + token * p.k;
            let row = p.logits_offset + token * p.experts;
            chance += chance_of(row, expert, logits[row + u32(chosen[few])]);
            for (var c = 0u; c < p.k; c++) {
                count += select(0.0, 1.0, u32(chosen[few + c]) == expert);
            }
        }
        chances[p.chances_offset + part * (p.experts + 1u) + expert] = chance;
        if (expert < p.experts) {
            counts[p.counts_offset + part * p.experts + expert] = count;
        }
    }
}
