// A counting sort of the pairs of a token and one of its experts, by expert and then by token.
// chosen, places: (t, k); order, tokens: (t * k); starts: (e + 1).
// A workgroup takes an expert and counts what comes before it; each of its lanes has an equal stretch of the pairs, so
// the rows of one expert stay in the order of tokens, and nothing depends on who is first.
//! lib: grid

const LANES = 256u;

struct Params {
    pairs: u32,
    k: u32,
    experts: u32,
    chosen_offset: u32,
    order_offset: u32,
    tokens_offset: u32,
    places_offset: u32,
    starts_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> chosen: array<i32>;
@group(0) @binding(2) var<storage, read_write> order: array<i32>;
@group(0) @binding(3) var<storage, read_write> tokens: array<i32>;
@group(0) @binding(4) var<storage, read_write> places: array<i32>;
@group(0) @binding(5) var<storage, read_write> starts: array<i32>;

var<workgroup> counts: array<u32, LANES>;  // of each lane's stretch: pairs of this expert
var<workgroup> earlier: array<u32, LANES>; // pairs of experts before it

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let expert = flat_group(group, grid);
    if (expert >= p.experts) {
        return;
    }
    let stretch = (p.pairs + LANES - 1u) / LANES;
    let begin = min(lane * stretch, p.pairs);
    let end = min(begin + stretch, p.pairs);
    var own = 0u;
    var before = 0u;
    for (var pair = begin; pair < end; pair++) {
        let other = u32(chosen[p.chosen_offset + pair]);
        own += select(0u, 1u, other == expert);
        before += select(0u, 1u, other < expert);
    }
    counts[lane] = own;
    earlier[lane] = before;
    workgroupBarrier();
    var first = 0u;
    var at = 0u;
    var all = 0u;
    for (var other = 0u; other < LANES; other++) {
        first += earlier[other];
        at += select(0u, counts[other], other < lane);
        all += counts[other];
    }
    if (lane == 0u) {
        starts[p.starts_offset + expert] = i32(first);
        if (expert == p.experts - 1u) {
            starts[p.starts_offset + p.experts] = i32(first + all);
        }
    }
    at += first;
    for (var pair = begin; pair < end; pair++) {
        if (u32(chosen[p.chosen_offset + pair]) == expert) {
            order[p.order_offset + at] = i32(pair);
            tokens[p.tokens_offset + at] = i32(pair / p.k);
            places[p.places_offset + pair] = i32(at);
            at++;
        }
    }
}
