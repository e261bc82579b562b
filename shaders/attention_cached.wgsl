// y = softmax(scale * q k^T) v of each query over the keys that it sees, keys and values in float16, two to a word.
// q, y: (t, heads * head_dim); k, v: rows of groups * head_dim, which is even; reach: (t, 3).
// A workgroup takes one token and head.  For the scores each lane has a key; for the result each has channels.
//! lib: grid reduce float_bits reach

const LANES = 64u;
const ROOT = 8u;
const LOWEST = -3.0e38;

struct Params {
    tokens: u32,
    heads: u32,
    groups: u32,
    scale: f32,
    q_offset: u32,
    k_offset: u32,  // in numbers, even
    v_offset: u32,
    reach_offset: u32,
    y_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> q: array<f32>;
@group(0) @binding(2) var<storage, read_write> k: array<u32>;
@group(0) @binding(3) var<storage, read_write> v: array<u32>;
@group(0) @binding(4) var<storage, read_write> reach: array<u32>;
@group(0) @binding(5) var<storage, read_write> y: array<f32>;

var<workgroup> query: array<f32, HEAD_DIM>;
var<workgroup> chances: array<f32, LANES>;
var<workgroup> span: vec2u;

fn half_of(word: u32, odd: u32) -> f32 {
    return bitcast<f32>(float16_to_float32((word >> (16u * odd)) & 0xffffu));
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let flat = flat_group(group, grid);
    if (flat >= p.tokens * p.heads) {
        return;
    }
    let token = flat / p.heads;
    let head = flat % p.heads;
    let key_head = head / (p.heads / p.groups);
    if (lane == 0u) {
        span = keys_seen_by(token);
    }
    let first = workgroupUniformLoad(&span).x;
    let last = workgroupUniformLoad(&span).y;
    for (var d = lane; d < HEAD_DIM; d += LANES) {
        query[d] = p.scale * q[p.q_offset + flat * HEAD_DIM + d];
    }
    workgroupBarrier();
    var largest = LOWEST;
    var mass = 0.0;
    var mixed: array<f32, PER>;
    for (var start = first; start < last; start += LANES) {
        var score = LOWEST;
        if (start + lane < last) {
            let at = p.k_offset + ((start + lane) * p.groups + key_head) * HEAD_DIM;
            score = 0.0;
            for (var d = 0u; d < HEAD_DIM; d++) {
                score += query[d] * half_of(k[(at + d) / 2u], (at + d) % 2u);
            }
        }
        let new_largest = max(largest, max_over_lanes(score, lane));
        let faded = select(0.0, exp(largest - new_largest), mass > 0.0);
        let chance = select(0.0, exp(score - new_largest), start + lane < last);
        chances[lane] = chance;
        largest = new_largest;
        mass = mass * faded + sum_over_lanes(chance, lane);
        let count = min(LANES, last - start);
        for (var i = 0u; i < PER; i++) {
            let d = lane + i * LANES;
            if (d < HEAD_DIM) {
                var sum = mixed[i] * faded;
                for (var j = 0u; j < count; j++) {
                    let at = p.v_offset + ((start + j) * p.groups + key_head) * HEAD_DIM + d;
                    sum += chances[j] * half_of(v[at / 2u], at % 2u);
                }
                mixed[i] = sum;
            }
        }
        workgroupBarrier();
    }
    let inverse = select(0.0, 1.0 / mass, mass > 0.0);
    for (var i = 0u; i < PER; i++) {
        let d = lane + i * LANES;
        if (d < HEAD_DIM) {
            y[p.y_offset + flat * HEAD_DIM + d] = mixed[i] * inverse;
        }
    }
}
