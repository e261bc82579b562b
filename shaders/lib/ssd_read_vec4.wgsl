// Four neighbouring numbers of what the products of the SSD shaders read and write, at once.  Wants offsets, widths,
// head_dim and state_size that are multiples of 4, and sizes of tensors too: the launch checks.

@group(0) @binding(1) var<storage, read_write> x: array<vec4f>;
@group(0) @binding(4) var<storage, read_write> states: array<vec4f>;
@group(0) @binding(5) var<storage, read_write> d_y: array<vec4f>;
@group(0) @binding(6) var<storage, read_write> result: array<vec4f>;  // y, or d_x

fn read_x(at: u32) -> vec4f {
    return x[at / 4u];
}

fn read_states(at: u32) -> vec4f {
    return states[at / 4u];
}

fn read_d_y(at: u32) -> vec4f {
    return d_y[at / 4u];
}

fn write_states(at: u32, values: vec4f, left: u32) {
    states[at / 4u] = values;
}

fn write_result(at: u32, values: vec4f, left: u32) {
    result[at / 4u] = values;
}
