// One head's steps and decays of one chunk in workgroup memory, a token a lane of 64.  Goes with ssd.

var<workgroup> decayed: array<vec2u, CHUNK>;
var<workgroup> Delta: array<f32, CHUNK>;

// To be called by all lanes, with a barrier before anything is read; tokens past the last have the last one's.
fn load_steps(first: u32, count: u32, head: u32, lane: u32) {
    let token = first + min(lane, count - 1u);
    let at = p.decayed_at + 2u * (token * p.heads + head);
    decayed[lane] = vec2u(workspace[at], workspace[at + 1u]);
    Delta[lane] = steps[p.steps_offset + token * 2u * p.heads + head];
}

// From the start of the chunk up to and with token i.
fn decay_up_to(i: u32) -> f32 {
    return decay(vec2u(0u), decayed[i]);
}

// From token i, without it, to the end of the chunk.
fn decay_after(i: u32) -> f32 {
    return decay(decayed[i], decayed[CHUNK - 1u]);
}
