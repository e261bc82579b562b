// d_v = P^T d_y and d_k = dS^T q * scale (P and dS as in attention_backward_queries.wgsl), summed over the query heads
// that share a key head: no two workgroups write to the same key.
// d_y, q: (t, heads * head_dim); k, v, d_k, d_v: (t, groups * head_dim); reach: (t, 3); sums: (t, 2 heads).
// A workgroup takes ROWS keys of one key head and goes through the queries from there to the end of their sequence,
// KEYS at a time; SHARE = LANES / ROWS lanes have a key together, each with some of its channels (PER of them).
//! lib: grid reach

const LANES = 64u;
const SHARE = LANES / ROWS;

struct Params {
    tokens: u32,
    length: u32,
    heads: u32,
    groups: u32,
    scale: f32,
    d_y_offset: u32,
    q_offset: u32,
    k_offset: u32,
    v_offset: u32,
    reach_offset: u32,
    sums_offset: u32,
    d_k_offset: u32,
    d_v_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> d_y: array<f32>;
@group(0) @binding(2) var<storage, read_write> q: array<f32>;
@group(0) @binding(3) var<storage, read_write> k: array<f32>;
@group(0) @binding(4) var<storage, read_write> v: array<f32>;
@group(0) @binding(5) var<storage, read_write> reach: array<u32>;
@group(0) @binding(6) var<storage, read_write> sums: array<f32>;
@group(0) @binding(7) var<storage, read_write> d_k: array<f32>;
@group(0) @binding(8) var<storage, read_write> d_v: array<f32>;

var<workgroup> keys: array<f32, ROWS * HEAD_DIM>;
var<workgroup> values: array<f32, ROWS * HEAD_DIM>;
var<workgroup> queries: array<f32, KEYS * HEAD_DIM>;
var<workgroup> d_rows: array<f32, KEYS * HEAD_DIM>;
var<workgroup> chances: array<f32, ROWS * KEYS>;
var<workgroup> d_scores: array<f32, ROWS * KEYS>;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let flat = flat_group(group, grid);
    let blocks = (p.length + ROWS - 1u) / ROWS;
    let sequence = flat / (blocks * p.groups);
    if (sequence * p.length >= p.tokens) {
        return;
    }
    let key_head = flat / blocks % p.groups;
    let share = p.heads / p.groups;
    let start = sequence * p.length + flat % blocks * ROWS;
    let end = (sequence + 1u) * p.length;
    let row = lane / SHARE;
    let part = lane % SHARE;
    let key = start + row;
    for (var i = lane; i < ROWS * HEAD_DIM; i += LANES) {
        let at = (min(start + i / HEAD_DIM, end - 1u) * p.groups + key_head) * HEAD_DIM + i % HEAD_DIM;
        keys[i] = k[p.k_offset + at];
        values[i] = v[p.v_offset + at];
    }
    var summed_k: array<f32, PER>;
    var summed_v: array<f32, PER>;
    for (var h = 0u; h < share; h++) {
        let head = key_head * share + h;
        for (var begin = start; begin < end; begin += KEYS) {
            workgroupBarrier();
            for (var i = lane; i < KEYS * HEAD_DIM; i += LANES) {
                let at = (min(begin + i / HEAD_DIM, end - 1u) * p.heads + head) * HEAD_DIM + i % HEAD_DIM;
                queries[i] = p.scale * q[p.q_offset + at];
                d_rows[i] = d_y[p.d_y_offset + at];
            }
            workgroupBarrier();
            for (var j = part; j < KEYS; j += SHARE) {
                let token = min(begin + j, end - 1u);
                let seen = keys_seen_by(token);
                var chance = 0.0;
                var d_score = 0.0;
                if (begin + j < end && key >= seen.x && key < seen.y) {
                    var score = 0.0;
                    var value = 0.0;
                    for (var d = 0u; d < HEAD_DIM; d++) {
                        score += queries[j * HEAD_DIM + d] * keys[row * HEAD_DIM + d];
                        value += d_rows[j * HEAD_DIM + d] * values[row * HEAD_DIM + d];
                    }
                    let at = p.sums_offset + token * 2u * p.heads + head;
                    chance = exp(score - sums[at]);
                    d_score = chance * (value - sums[at + p.heads]);
                }
                chances[row * KEYS + j] = chance;
                d_scores[row * KEYS + j] = d_score;
            }
            workgroupBarrier();
            for (var j = 0u; j < KEYS; j++) {
                for (var i = 0u; i < PER; i++) {
                    let d = part + i * SHARE;
                    if (d < HEAD_DIM) {
                        summed_k[i] += d_scores[row * KEYS + j] * queries[j * HEAD_DIM + d];
                        summed_v[i] += chances[row * KEYS + j] * d_rows[j * HEAD_DIM + d];
                    }
                }
            }
        }
    }
    if (key >= end) {
        return;
    }
    for (var i = 0u; i < PER; i++) {
        let d = part + i * SHARE;
        if (d < HEAD_DIM) {
            let at = (key * p.groups + key_head) * HEAD_DIM + d;
            d_k[p.d_k_offset + at] = summed_k[i];
            d_v[p.d_v_offset + at] = summed_v[i];
        }
    }
}
