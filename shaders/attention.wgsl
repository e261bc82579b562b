// y = softmax(scale * q k^T) v over the keys that each query sees, head by head; the scores are never held.
// q, y: (t, heads * head_dim); k, v: (s, groups * head_dim); reach: (t, 3) with first and past-the-last key of each
// query; sums: (t, 2 heads), of which the first half becomes the logarithm of the sum of the exponentials.
// A workgroup takes ROWS queries of one head and goes through the keys KEYS at a time; SHARE = LANES / ROWS lanes have
// a query together: each has some of the tile's scores, and some channels of the result (PER of them).
//! lib: grid reach reach_of_block

const LOWEST = -3.0e38;

struct Params {
    tokens: u32,
    heads: u32,
    groups: u32,
    scale: f32,
    q_offset: u32,
    k_offset: u32,
    v_offset: u32,
    reach_offset: u32,
    y_offset: u32,
    sums_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> q: array<f32>;
@group(0) @binding(2) var<storage, read_write> k: array<f32>;
@group(0) @binding(3) var<storage, read_write> v: array<f32>;
@group(0) @binding(4) var<storage, read_write> reach: array<u32>;
@group(0) @binding(5) var<storage, read_write> y: array<f32>;
@group(0) @binding(6) var<storage, read_write> sums: array<f32>;

var<workgroup> queries: array<f32, ROWS * HEAD_DIM>;
var<workgroup> tile: array<f32, KEYS * HEAD_DIM>;  // keys, then values
var<workgroup> scores: array<f32, ROWS * KEYS>;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let flat = flat_group(group, grid);
    let blocks = (p.tokens + ROWS - 1u) / ROWS;
    if (flat >= blocks * p.heads) {
        return;
    }
    let head = flat / blocks;
    let block = flat % blocks * ROWS;
    let key_head = head / (p.heads / p.groups);
    let row = lane / SHARE;
    let part = lane % SHARE;
    let token = min(block + row, p.tokens - 1u);
    let seen = select(vec2u(0u), keys_seen_by(token), block + row < p.tokens);
    let span = keys_seen_from(block, lane);
    for (var i = lane; i < ROWS * HEAD_DIM; i += LANES) {
        let t = min(block + i / HEAD_DIM, p.tokens - 1u);
        queries[i] = p.scale * q[p.q_offset + (t * p.heads + head) * HEAD_DIM + i % HEAD_DIM];
    }
    var largest = LOWEST;
    var mass = 0.0;
    var mixed: array<f32, PER>;
    for (var start = span.x; start < span.y; start += KEYS) {
        workgroupBarrier();
        for (var i = lane; i < KEYS * HEAD_DIM; i += LANES) {
            let j = min(start + i / HEAD_DIM, span.y - 1u);
            tile[i] = k[p.k_offset + (j * p.groups + key_head) * HEAD_DIM + i % HEAD_DIM];
        }
        workgroupBarrier();
        for (var j = part; j < KEYS; j += SHARE) {
            var score = 0.0;
            for (var d = 0u; d < HEAD_DIM; d++) {
                score += queries[row * HEAD_DIM + d] * tile[j * HEAD_DIM + d];
            }
            scores[row * KEYS + j] = score;
        }
        workgroupBarrier();
        for (var i = lane; i < KEYS * HEAD_DIM; i += LANES) {
            let j = min(start + i / HEAD_DIM, span.y - 1u);
            tile[i] = v[p.v_offset + (j * p.groups + key_head) * HEAD_DIM + i % HEAD_DIM];
        }
        var new_largest = largest;
        for (var j = 0u; j < KEYS; j++) {
            if (start + j >= seen.x && start + j < seen.y) {
                new_largest = max(new_largest, scores[row * KEYS + j]);
            }
        }
        let faded = select(0.0, exp(largest - new_largest), mass > 0.0);
        largest = new_largest;
        mass *= faded;
        for (var i = 0u; i < PER; i++) {
            mixed[i] *= faded;
        }
        workgroupBarrier();
        for (var j = 0u; j < KEYS; j++) {
            if (start + j >= seen.x && start + j < seen.y) {
                let chance = exp(scores[row * KEYS + j] - largest);
                mass += chance;
                for (var i = 0u; i < PER; i++) {
                    let d = part + i * SHARE;
                    if (d < HEAD_DIM) {
                        mixed[i] += chance * tile[j * HEAD_DIM + d];
                    }
                }
            }
        }
    }
    if (block + row >= p.tokens) {
        return;
    }
    let inverse = select(0.0, 1.0 / mass, mass > 0.0);
    for (var i = 0u; i < PER; i++) {
        let d = part + i * SHARE;
        if (d < HEAD_DIM) {
            y[p.y_offset + (token * p.heads + head) * HEAD_DIM + d] = mixed[i] * inverse;
        }
    }
    if (part == 0u) {
        sums[p.sums_offset + token * 2u * p.heads + head] = select(0.0, largest + log(mass), mass > 0.0);
    }
}
