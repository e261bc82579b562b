// y = x as float32, bit for bit.  x: (count) of bfloat16 (lib/widen_16.wgsl).
//! lib: grid widen_16

fn widened(half: u32) -> u32 {
    return half << 16u;
}
