// The taps of one channel in QUADS quads (a constant put in front), the last component of the last meeting the current
// token; where k is no multiple of four, zeros stand in front. Uses p and weight (d, k) of the shader that includes it.

const REACH = 4u * QUADS - 1u;  // tokens between the first component and the last

fn tap(channel: u32, back: u32) -> f32 {
    if (back >= p.taps) {
        return 0.0;
    }
    return weight[p.weight_offset + channel * p.taps + p.taps - 1u - back];
}

fn load_taps(channel: u32) -> array<vec4f, QUADS> {
    var taps: array<vec4f, QUADS>;
    for (var q = 0u; q < QUADS; q++) {
        let back = REACH - 4u * q;
        taps[q] = vec4f(tap(channel, back), tap(channel, back - 1u), tap(channel, back - 2u), tap(channel, back - 3u));
    }
    return taps;
}

// The window one token on: everything moves up, `newest` comes last.
fn moved_on(window: array<vec4f, QUADS>, newest: f32) -> array<vec4f, QUADS> {
    var moved = window;
    for (var q = 0u; q + 1u < QUADS; q++) {
        moved[q] = vec4f(moved[q].yzw, moved[q + 1u].x);
    }
    moved[QUADS - 1u] = vec4f(moved[QUADS - 1u].yzw, newest);
    return moved;
}

fn taps_dot(taps: array<vec4f, QUADS>, window: array<vec4f, QUADS>) -> f32 {
    var sum = 0.0;
    for (var q = 0u; q < QUADS; q++) {
        sum += dot(taps[q], window[q]);
    }
    return sum;
}
