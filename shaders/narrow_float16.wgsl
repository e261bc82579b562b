// y = x as float16, to the nearest, ties to even (lib/narrow_16.wgsl).
//! lib: grid float_bits narrow_16

fn narrowed(bits: u32) -> u32 {
    return float32_to_float16(bits);
}
