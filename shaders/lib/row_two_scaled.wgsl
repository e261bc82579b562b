// The lines of lib/row in two matrices, gate and up, with a scale for two chunks.

fn low_word(at: u32) -> Word {
    return gate[at];
}

fn high_word(at: u32) -> Word {
    return up[at];
}

fn low_factor(at: u32, i: u32) -> f32 {
    return gate_scales[at + i / 2u];
}

fn high_factor(at: u32, i: u32) -> f32 {
    return up_scales[at + i / 2u];
}
