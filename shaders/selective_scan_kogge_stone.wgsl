// The selective scan as a parallel prefix over time, kept for comparison: never chosen automatically.
// One workgroup per (sequence, channel), one lane per token of a tile of 64; per state a Kogge-Stone scan in six rounds
// with (a1, b1) then (a2, b2) = (a1*a2, a2*b1 + b2), and a carry from tile to tile.  Each state costs seven barriers a
// tile, so it loses wherever there are channels enough; see the scan launches for what is chosen when.
//! lib: grid activation scan_forward

var<workgroup> carries: array<f32, N>;
var<workgroup> rounds: array<vec2f, 128>;  // two halves, written in turn: one barrier a round is enough

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let unit = flat_group(group, grid);
    if (unit >= p.sequences * p.width) {
        return;
    }
    let sequence = unit / p.width;
    let channel = unit % p.width;
    let D = coefficients[p.coefficients_offset + N * p.width + channel];
    let dt_bias = coefficients[p.coefficients_offset + (N + 1u) * p.width + channel];
    for (var n = lane; n < N; n += 64u) {
        carries[n] = 0.0;
        if (p.carry != 0u) {
            carries[n] = states[state_index(sequence, 0u, n, channel)];
        }
    }

    for (var chunk = 0u; chunk < p.chunks; chunk++) {
        workgroupBarrier();
        for (var n = lane; n < N; n += 64u) {
            states[state_index(sequence, chunk, n, channel)] = carries[n];
        }
        let t = chunk * 64u + lane;
        let live = t < p.length;
        let token = sequence * p.length + min(t, p.length - 1u);
        let at = token * p.width + channel;
        let x = u[p.u_offset + at];
        let step = softplus(delta[p.delta_offset + at] + dt_bias);
        var sum = D * x;
        for (var n = 0u; n < N; n++) {
            let A = coefficients[p.coefficients_offset + n * p.width + channel];
            let B_at = p.x_dbl_offset + token * p.row + p.rank + n;
            // Lanes past the end hold the neutral element, so that lane 63 always ends with the carry.
            var own = vec2f(1.0, 0.0);
            if (live) {
                own = vec2f(exp(step * A), step * x * x_dbl[B_at]);
            }
            var half = 0u;
            rounds[lane] = own;
            workgroupBarrier();
            let carried = carries[n];
            for (var reach = 1u; reach < 64u; reach *= 2u) {
                if (lane >= reach) {
                    let earlier = rounds[half + lane - reach];
                    own = vec2f(earlier.x * own.x, own.x * earlier.y + own.y);
                }
                half = 64u - half;
                rounds[half + lane] = own;
                workgroupBarrier();
            }
            let state = own.x * carried + own.y;
            sum += state * x_dbl[B_at + N];
            if (lane == 63u) {
                carries[n] = state;
            }
        }
        if (live) {
            y[p.y_offset + at] = sum;
        }
    }
    workgroupBarrier();
    for (var n = lane; n < N; n += 64u) {
        states[state_index(sequence, p.chunks, n, channel)] = carries[n];
    }
}
