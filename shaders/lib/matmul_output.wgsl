// Where the tiles of a product go: the parameters of storing, read once a lane.  Goes with matmul_params.

struct Output {
    m: u32,
    n: u32,
    flags: u32,
    alpha: f32,
    at: u32,
    stride: u32,
    addend_at: u32,
    addend_stride: u32,
    bias_at: u32,
}

fn output_of(part: u32) -> Output {
    return Output(
        p.m, p.n, p.flags, p.alpha, p.c_offset + part * p.part_size, p.c_stride, p.addend_offset, p.addend_stride,
        p.bias_offset,
    );
}
