// The lines of lib/row in one matrix b, without scales.

fn low_word(at: u32) -> Word {
    return b[at];
}

fn high_word(at: u32) -> Word {
    return b[at];
}

fn low_factor(at: u32, i: u32) -> f32 {
    return 1.0;
}

fn high_factor(at: u32, i: u32) -> f32 {
    return 1.0;
}
