// logits[i] / penalty, or times it where it is below zero, for each token i of recent and chosen, once; -1 is none.
// logits: (1, v); recent: (w); chosen: (n, 2), of which the first column counts; settings[4] is the penalty.
// One workgroup: the window is short, so each lane looks itself whether its token has come before.

const LANES = 256u;

struct Params {
    width: u32,
    recent_count: u32,
    chosen_count: u32,
    logits_offset: u32,
    recent_offset: u32,
    chosen_offset: u32,
    settings_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> logits: array<f32>;
@group(0) @binding(2) var<storage, read_write> recent: array<i32>;
@group(0) @binding(3) var<storage, read_write> chosen: array<i32>;
@group(0) @binding(4) var<storage, read_write> settings: array<f32>;

fn token_at(place: u32) -> i32 {
    if (place < p.recent_count) {
        return recent[p.recent_offset + place];
    }
    return chosen[p.chosen_offset + 2u * (place - p.recent_count)];
}

@compute @workgroup_size(LANES)
fn main(@builtin(local_invocation_index) lane: u32) {
    let penalty = settings[p.settings_offset + 4u];
    for (var place = lane; place < p.recent_count + p.chosen_count; place += LANES) {
        let token = token_at(place);
        var is_new = token >= 0 && u32(token) < p.width;
        for (var before = 0u; is_new && before < place; before++) {
            is_new = token_at(before) != token;
        }
        if (is_new) {
            let at = p.logits_offset + u32(token);
            let score = logits[at];
            logits[at] = select(score * penalty, score / penalty, score > 0.0);
        }
    }
}
