// y = x as float32, bit for bit.  x: (count) of float16 (lib/widen_16.wgsl).
//! lib: grid float_bits widen_16

fn widened(half: u32) -> u32 {
    return float16_to_float32(half);
}
