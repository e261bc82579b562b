// The taps of one channel as a quad whose last component meets the current token; fewer than four are padded in front
// with zeros. Uses p and weight (d, k) of the shader that includes it.

fn tap(channel: u32, back: u32) -> f32 {
    if (back >= p.taps) {
        return 0.0;
    }
    return weight[p.weight_offset + channel * p.taps + p.taps - 1u - back];
}

fn load_taps(channel: u32) -> vec4f {
    return vec4f(tap(channel, 3u), tap(channel, 2u), tap(channel, 1u), tap(channel, 0u));
}
