// chosen = (a token drawn, 1), or (the best one, 0) where `best` does not reach as far as the filters: the host then
// chooses from all scores.  logits: (1, v); best: (1, 1 + 2k) as top_k leaves it; settings: temperature, top-k, top-p,
// min-p; chances[0] in [0, 1); chosen: (1, 2).
//
// Every filter leaves the best so many tokens, so together they are one place in the order of `best`: all lanes find the
// same one.  Then each lane adds up what is left of a run of neighbouring tokens, and the lane in whose run the draw falls
// walks through it again: tokens are drawn in the order of their ids.

const LANES = 256u;

struct Params {
    width: u32,
    found: u32,
    logits_offset: u32,
    best_offset: u32,
    settings_offset: u32,
    chances_offset: u32,
    chosen_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> logits: array<f32>;
@group(0) @binding(2) var<storage, read_write> best: array<f32>;
@group(0) @binding(3) var<storage, read_write> settings: array<f32>;
@group(0) @binding(4) var<storage, read_write> chances: array<f32>;
@group(0) @binding(5) var<storage, read_write> chosen: array<i32>;

var<workgroup> run_sums: array<f32, LANES>;

fn best_score(place: u32) -> f32 {
    return best[p.best_offset + 1u + place];
}

fn best_token(place: u32) -> u32 {
    return u32(best[p.best_offset + 1u + p.found + place]);
}

@compute @workgroup_size(LANES)
fn main(@builtin(local_invocation_index) lane: u32) {
    let temperature = settings[p.settings_offset];
    let wanted = u32(settings[p.settings_offset + 1u]);
    let top_p = settings[p.settings_offset + 2u];
    let min_p = settings[p.settings_offset + 3u];
    let is_greedy = temperature == 0.0;
    let scale = select(1.0 / temperature, 1.0, is_greedy);
    let top_k = select(wanted, p.width, wanted == 0u || wanted > p.width);
    let highest = best_score(0u);
    let run = (p.width + LANES - 1u) / LANES;
    let begin = min(lane * run, p.width);
    let end = min(begin + run, p.width);

    var sum = 0.0;
    for (var j = begin; j < end; j++) {
        sum += exp((logits[p.logits_offset + j] - highest) * scale);
    }
    run_sums[lane] = sum;
    workgroupBarrier();
    var whole = 0.0;
    for (var k = 0u; k < LANES; k++) {
        whole += run_sums[k];
    }
    workgroupBarrier();

    let reach = min(top_k, p.found);
    if (top_k < p.width) {
        whole = 0.0;
        for (var k = 0u; k < reach; k++) {
            whole += exp((best_score(k) - highest) * scale);
        }
    }
    var count = top_k; // tokens that are left, the best first
    var is_decided = true;
    if (top_p < 1.0) {
        var together = 0.0;
        count = 0u;
        while (count < reach && together < top_p * whole) {
            together += exp((best_score(count) - highest) * scale);
            count++;
        }
        is_decided = together >= top_p * whole || count == top_k;
    }
    is_decided = is_decided && (count <= p.found || count == p.width);
    let is_cut = count < p.width;
    let last_place = min(max(count, 1u), p.found) - 1u;
    let last_score = best_score(last_place);
    let last_token = best_token(last_place);

    sum = 0.0;
    for (var j = begin; j < end; j++) {
        let score = logits[p.logits_offset + j];
        let share = exp((score - highest) * scale);
        let is_left = !is_cut || score > last_score || (score == last_score && j <= last_token);
        sum += select(0.0, share, is_left && share >= min_p);
    }
    run_sums[lane] = sum;
    workgroupBarrier();
    whole = 0.0;
    for (var k = 0u; k < LANES; k++) {
        whole += run_sums[k];
    }
    let limit = whole * chances[p.chances_offset];
    var before = 0.0; // of the runs before the one in which the draw falls: of the last with anything, if rounding misses all
    var owner = 0u;
    var passed = 0.0;
    for (var k = 0u; k < LANES; k++) {
        if (run_sums[k] > 0.0 && (k == 0u || passed <= limit)) {
            owner = k;
            before = passed;
        }
        passed += run_sums[k];
    }
    if (lane != owner) {
        return;
    }
    var token = best_token(0u);
    if (is_decided && !is_greedy) {
        var together = before;
        for (var j = begin; j < end; j++) {
            let score = logits[p.logits_offset + j];
            let share = exp((score - highest) * scale);
            let is_left = !is_cut || score > last_score || (score == last_score && j <= last_token);
            if (is_left && share >= min_p && (together <= limit || together == before)) {
                token = j;
                together += share;
            }
        }
    }
    chosen[p.chosen_offset] = i32(token);
    chosen[p.chosen_offset + 1u] = i32(is_decided || is_greedy);
}
