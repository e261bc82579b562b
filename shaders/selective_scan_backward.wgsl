// Backward of the selective scan, one lane per (sequence, channel): 64 channels of one sequence a workgroup, so that d_B
// and d_C can be summed over the channels in workgroup memory, in a fixed order.  Equations, shapes and bindings:
// lib/scan_backward.wgsl. A workgroup takes several pairs (sequence, block) where the workspace has fewer strips than
// there are pairs.
//! lib: activation scan_backward scan_lane scan_state

// w of 64 tokens, a strip for each workgroup.
@group(0) @binding(8) var<storage, read_write> workspace: array<vec4f>;

const GROUP = min(QUADS, 4u);  // quads summed at a time: 16 states take 8 KiB
const VALUES = 8u * GROUP;  // d_B, then d_C
const PITCH = VALUES + 1u;  // odd: no two lanes write to the same bank
const PARTS = 64u / VALUES;  // so many lanes share the sum of a value
const SPAN = 64u / PARTS;

var<private> G: array<vec4f, SLOTS>;
var<private> d_A: array<vec4f, SLOTS>;
var<private> q_A: vec4f;
var<private> dh_B: vec4f;
var<workgroup> shares: array<f32, 64u * PITCH>;
var<workgroup> sums: array<f32, 64>;

struct Token {
    step: f32,
    drive: f32,
    d_y: f32,
    tile: u32,  // its place in the tile
    strip: u32,  // and in the strip, of this lane
}

// The state before a token times its decay goes to the strip: the walk back needs that product, and h is one addition
// away.
fn rerun_quad(q: u32, token: Token) {
    if (q < QUADS) {
        let w = exp2(token.step * A[q]) * h[q];
        workspace[token.strip + q * 64u] = w;
        h[q] = w + token.drive * tile[token.tile + q];
    }
}

fn walk_quad(q: u32, token: Token, share: u32) {
    if (q < QUADS) {
        let B = tile[token.tile + q];
        let w = workspace[token.strip + q * 64u];
        let dh = token.d_y * tile[token.tile + QUADS + q] + G[q];
        let dh_w = dh * w;
        d_A[q] += token.step * dh_w;
        q_A += dh_w * A[q];
        dh_B += dh * B;
        G[q] = exp2(token.step * A[q]) * dh;
        let d_B = token.drive * dh;
        let d_C = token.d_y * (w + token.drive * B);
        shares[share] = d_B.x;
        shares[share + 1u] = d_B.y;
        shares[share + 2u] = d_B.z;
        shares[share + 3u] = d_B.w;
        shares[share + 4u * GROUP] = d_C.x;
        shares[share + 4u * GROUP + 1u] = d_C.y;
        shares[share + 4u * GROUP + 2u] = d_C.z;
        shares[share + 4u * GROUP + 3u] = d_C.w;
    }
}

// Four quads from `first`, then the sums of their d_B and d_C over the 64 channels to `partials` from `at`.
fn walk_group(first: u32, token: Token, at: u32, lane: u32) {
    let share = lane * PITCH;
    walk_quad(first, token, share);
    walk_quad(first + 1u, token, share + 4u);
    walk_quad(first + 2u, token, share + 8u);
    walk_quad(first + 3u, token, share + 12u);
    workgroupBarrier();
    if (lane < PARTS * VALUES) {
        var sum = 0.0;
        let from_lane = lane / VALUES * SPAN;
        for (var k = 0u; k < SPAN; k += 4u) {
            let from_share = (from_lane + k) * PITCH + lane % VALUES;
            sum += (shares[from_share] + shares[from_share + PITCH])
                + (shares[from_share + 2u * PITCH] + shares[from_share + 3u * PITCH]);
        }
        sums[lane] = sum;
    }
    workgroupBarrier();
    // `sums` is safe until the next walk_group has passed its own first barrier.
    let state = 4u * first + lane % (4u * GROUP);
    if (lane < VALUES && state < N) {
        var sum = sums[lane];
        for (var part = 1u; part < PARTS; part++) {
            sum += sums[lane + part * VALUES];
        }
        partials[at + lane / (4u * GROUP) * N + state] = sum;
    }
}

fn walk_pair(sequence: u32, block: u32, strip: u32, lane: u32) {
    let own = block * 64u + lane;
    // Lanes beyond the width repeat the last channel with d_y = 0: they add nothing, and are needed at the barriers.
    let channel = min(own, p.width - 1u);
    let live = own < p.width;
    load_A(channel);
    let D = coefficients[p.coefficients_offset + N * p.width + channel];
    let dt_bias = coefficients[p.coefficients_offset + (N + 1u) * p.width + channel];
    for (var q = 0u; q < QUADS; q++) {
        G[q] = vec4f();
        d_A[q] = vec4f();
    }
    var d_D = 0.0;
    var d_dt_bias = 0.0;

    for (var chunk = p.chunks; chunk > 0u; chunk--) {
        let begin = (chunk - 1u) * 64u;
        let stop = min(p.length, begin + 64u);
        let tiles = (stop - begin + TILE - 1u) / TILE;
        read_state(sequence, chunk - 1u, channel);
        for (var start = begin; start < stop; start += TILE) {
            let count = min(TILE, stop - start);
            load_tile(sequence * p.length + start, count, lane);
            for (var k = 0u; k < count; k++) {
                let at = (sequence * p.length + start + k) * p.width + channel;
                let step = softplus(delta[p.delta_offset + at] + dt_bias);
                let kept = strip + (start - begin + k) * QUADS * 64u;
                let token = Token(step, step * u[p.u_offset + at], 0.0, k * 2u * QUADS, kept);
                rerun_quad(0u, token);
                rerun_quad(1u, token);
                rerun_quad(2u, token);
                rerun_quad(3u, token);
                for (var q = 4u; q < QUADS; q++) {
                    rerun_quad(q, token);
                }
            }
        }
        for (var left = tiles; left > 0u; left--) {
            let start = begin + (left - 1u) * TILE;
            let count = min(TILE, stop - start);
            if (left < tiles) {  // the last tile is still there from the re-run
                load_tile(sequence * p.length + start, count, lane);
            }
            for (var k = count; k > 0u; k--) {
                let t = sequence * p.length + start + k - 1u;
                let at = t * p.width + channel;
                let x = u[p.u_offset + at];
                let before = delta[p.delta_offset + at] + dt_bias;
                let step = softplus(before);
                let d_out = select(0.0, d_y[p.d_y_offset + at], live);
                let kept = strip + (start - begin + k - 1u) * QUADS * 64u;
                let token = Token(step, step * x, d_out, (k - 1u) * 2u * QUADS, kept);
                let partial = p.partials_offset + (block * p.sequences * p.length + t) * 2u * N;
                q_A = vec4f();
                dh_B = vec4f();
                walk_group(0u, token, partial, lane);
                for (var first = 4u; first < QUADS; first += 4u) {
                    walk_group(first, token, partial, lane);
                }
                let s = (dh_B.x + dh_B.y) + (dh_B.z + dh_B.w);
                let d_step = LN2 * ((q_A.x + q_A.y) + (q_A.z + q_A.w)) + s * x;
                let d_before = d_step * sigmoid(before);
                d_D += d_out * x;
                d_dt_bias += d_before;
                if (live && p.want_inputs != 0u) {
                    d_y[p.d_y_offset + at] = d_out * D + s * step;
                    delta[p.delta_offset + at] = d_before;
                }
            }
        }
    }
    if (live && p.want_coefficients != 0u) {
        for (var n = 0u; n < N; n++) {
            partials[d_coefficient_index(sequence, n, channel)] = d_A[n / 4u][n % 4u];
        }
        partials[d_coefficient_index(sequence, N, channel)] = d_D;
        partials[d_coefficient_index(sequence, N + 1u, channel)] = d_dt_bias;
    }
}

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let strip = p.workspace_offset + group.x * 64u * QUADS * 64u + lane;
    for (var pair = group.x; pair < p.sequences * p.blocks; pair += grid.x) {
        walk_pair(pair / p.blocks, pair % p.blocks, strip, lane);
    }
}
