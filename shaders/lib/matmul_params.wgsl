// What all matrix products share: the parameters.
//
// An operand is given by two distances: `row` from one i (of a) or one j (of b) to the next, `step` from one k to the
// next.  That makes nt, nn and tn the same product: only which of the two distances is 1 differs.

struct Params {
    m: u32,
    n: u32,
    k: u32,
    flags: u32,
    a_offset: u32,
    a_row: u32,
    a_step: u32,
    b_offset: u32,
    b_row: u32,
    b_step: u32,
    c_offset: u32,
    c_stride: u32,
    addend_offset: u32,
    addend_stride: u32,
    bias_offset: u32,
    alpha: f32,
    tiles_across: u32,
    lanes_across: u32, // only the register-blocked kernels read it
    tiles: u32, // of c; more workgroups take further parts of k, whose sums stand behind each other
    part_k: u32,
    part_size: u32,
}

const HAS_ADDEND = 1u;
const HAS_BIAS = 2u;
const ACCUMULATE = 4u;

@group(0) @binding(0) var<uniform> p: Params;
