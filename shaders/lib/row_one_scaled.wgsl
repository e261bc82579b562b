// The lines of lib/row in one matrix b, with a scale for two chunks.

fn low_word(at: u32) -> Word {
    return b[at];
}

fn high_word(at: u32) -> Word {
    return b[at];
}

fn low_factor(at: u32, i: u32) -> f32 {
    return scales[at + i / 2u];
}

fn high_factor(at: u32, i: u32) -> f32 {
    return scales[at + i / 2u];
}
