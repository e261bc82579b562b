// 16-bit floats by bit arithmetic: WGSL's own packing may round either way and drop subnormals.  Two halves share a
// word, the first one low.

fn not_finite(bits: u32) -> bool {
    return (bits & 0x7f800000u) == 0x7f800000u;
}

fn float16_to_float32(half: u32) -> u32 {
    let sign = (half & 0x8000u) << 16u;
    let exponent = (half >> 10u) & 31u;
    let mantissa = half & 0x3ffu;
    if (exponent == 31u) {
        return sign | 0x7f800000u | (mantissa << 13u);
    }
    if (exponent > 0u) {
        return sign | ((exponent + 112u) << 23u) | (mantissa << 13u);
    }
    if (mantissa == 0u) {
        return sign;
    }
    let top = firstLeadingBit(mantissa);  // a subnormal: mantissa * 2^-24, normal in float32
    return sign | ((top + 103u) << 23u) | ((mantissa << (23u - top)) & 0x7fffffu);
}

fn float32_to_float16(bits: u32) -> u32 {
    let sign = (bits >> 16u) & 0x8000u;
    let size = bits & 0x7fffffffu;
    if (size > 0x7f800000u) {
        return sign | 0x7e00u | ((size >> 13u) & 0x3ffu);
    }
    if (size >= 0x47800000u) {  // 65536 and more
        return sign | 0x7c00u;
    }
    if (size >= 0x38800000u) {  // 2^-14: normal; the carry of the rounding may run into the exponent, as it should
        let rebiased = size - 0x38000000u;
        return sign | ((rebiased + 0xfffu + ((rebiased >> 13u) & 1u)) >> 13u);
    }
    if (size < 0x33000000u) {  // less than half of the smallest subnormal
        return sign;
    }
    let shift = 126u - (size >> 23u);
    let mantissa = (size & 0x7fffffu) | 0x800000u;
    let quotient = mantissa >> shift;
    let remainder = mantissa & ((1u << shift) - 1u);
    let tie = 1u << (shift - 1u);
    return sign | (quotient + select(0u, 1u, remainder > tie || (remainder == tie && (quotient & 1u) == 1u)));
}

fn float32_to_bfloat16(bits: u32) -> u32 {
    if ((bits & 0x7fffffffu) > 0x7f800000u) {
        return (bits >> 16u) | 0x40u;  // rounding could turn NaN into infinity
    }
    return (bits + 0x7fffu + ((bits >> 16u) & 1u)) >> 16u;
}
