// d_q = scale * dS k with dS = P (d_y v^T - delta), P = exp(scale * q k^T - log sum), over the keys that a query sees.
// d_y, q, d_q: (t, heads * head_dim); k, v: (s, groups * head_dim); reach: (t, 3); sums: (t, 2 heads), the logarithms
// of the sums and then the deltas.  Rows and lanes as in attention.wgsl.
//! lib: grid reach reach_of_block

struct Params {
    tokens: u32,
    heads: u32,
    groups: u32,
    scale: f32,
    d_y_offset: u32,
    q_offset: u32,
    k_offset: u32,
    v_offset: u32,
    reach_offset: u32,
    sums_offset: u32,
    d_q_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> d_y: array<f32>;
@group(0) @binding(2) var<storage, read_write> q: array<f32>;
@group(0) @binding(3) var<storage, read_write> k: array<f32>;
@group(0) @binding(4) var<storage, read_write> v: array<f32>;
@group(0) @binding(5) var<storage, read_write> reach: array<u32>;
@group(0) @binding(6) var<storage, read_write> sums: array<f32>;
@group(0) @binding(7) var<storage, read_write> d_q: array<f32>;

var<workgroup> queries: array<f32, ROWS * HEAD_DIM>;
var<workgroup> d_rows: array<f32, ROWS * HEAD_DIM>;
var<workgroup> keys: array<f32, KEYS * HEAD_DIM>;
var<workgroup> values: array<f32, KEYS * HEAD_DIM>;
var<workgroup> d_scores: array<f32, ROWS * KEYS>;

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
    let log_sum = sums[p.sums_offset + token * 2u * p.heads + head];
    let delta = sums[p.sums_offset + token * 2u * p.heads + p.heads + head];
    let span = keys_seen_from(block, lane);
    for (var i = lane; i < ROWS * HEAD_DIM; i += LANES) {
        let at = (min(block + i / HEAD_DIM, p.tokens - 1u) * p.heads + head) * HEAD_DIM + i % HEAD_DIM;
        queries[i] = p.scale * q[p.q_offset + at];
        d_rows[i] = d_y[p.d_y_offset + at];
    }
    var summed: array<f32, PER>;
    for (var start = span.x; start < span.y; start += KEYS) {
        workgroupBarrier();
        for (var i = lane; i < KEYS * HEAD_DIM; i += LANES) {
            let at = (min(start + i / HEAD_DIM, span.y - 1u) * p.groups + key_head) * HEAD_DIM + i % HEAD_DIM;
            keys[i] = k[p.k_offset + at];
            values[i] = v[p.v_offset + at];
        }
        workgroupBarrier();
        for (var j = part; j < KEYS; j += SHARE) {
            var d_score = 0.0;
            if (start + j >= seen.x && start + j < seen.y) {
                var score = 0.0;
                var value = 0.0;
                for (var d = 0u; d < HEAD_DIM; d++) {
                    score += queries[row * HEAD_DIM + d] * keys[j * HEAD_DIM + d];
                    value += d_rows[row * HEAD_DIM + d] * values[j * HEAD_DIM + d];
                }
                d_score = p.scale * exp(score - log_sum) * (value - delta);
            }
            d_scores[row * KEYS + j] = d_score;
        }
        workgroupBarrier();
        for (var j = 0u; j < KEYS; j++) {
            let d_score = d_scores[row * KEYS + j];
            for (var i = 0u; i < PER; i++) {
                let d = part + i * SHARE;
                if (d < HEAD_DIM) {
                    summed[i] += d_score * keys[j * HEAD_DIM + d];
                }
            }
        }
    }
    if (block + row >= p.tokens) {
        return;
    }
    for (var i = 0u; i < PER; i++) {
        let d = part + i * SHARE;
        if (d < HEAD_DIM) {
            d_q[p.d_q_offset + (token * p.heads + head) * HEAD_DIM + d] = summed[i];
        }
    }
}
