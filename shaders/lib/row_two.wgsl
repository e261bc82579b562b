// The lines of lib/row in two matrices, gate and up, without scales.

fn low_word(at: u32) -> Word {
    return gate[at];
}

fn high_word(at: u32) -> Word {
    return up[at];
}

fn low_factor(at: u32, i: u32) -> f32 {
    return 1.0;
}

fn high_factor(at: u32, i: u32) -> f32 {
    return 1.0;
}
