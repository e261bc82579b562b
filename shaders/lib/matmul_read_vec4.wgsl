// Reads four neighbouring numbers of a or b at once.  Wants offsets, strides and sizes that are multiples of 4: the
// launch checks.

@group(0) @binding(1) var<storage, read_write> a: array<vec4f>;
@group(0) @binding(2) var<storage, read_write> b: array<vec4f>;

fn read_a(at: u32) -> vec4f {
    return a[at / 4u];
}

fn read_b(at: u32) -> vec4f {
    return b[at / 4u];
}
