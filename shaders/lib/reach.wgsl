// The keys that a token sees, x to y - 1.  Uses p and reach (t, 3) of the shader that includes it; the first column of
// reach is the token's position.

fn keys_seen_by(token: u32) -> vec2u {
    let at = p.reach_offset + 3u * token;
    return vec2u(reach[at + 1u], reach[at + 2u]);
}
