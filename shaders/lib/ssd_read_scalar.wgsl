// Four neighbouring numbers of what the products of the SSD shaders read and write, one by one: for views that begin or
// advance off the grid of 4.  `left` is how many columns there are from the first of the four.

@group(0) @binding(1) var<storage, read_write> x: array<f32>;
@group(0) @binding(4) var<storage, read_write> states: array<f32>;
@group(0) @binding(5) var<storage, read_write> d_y: array<f32>;
@group(0) @binding(6) var<storage, read_write> result: array<f32>;  // y, or d_x

fn read_x(at: u32) -> vec4f {
    return vec4f(x[at], x[at + 1u], x[at + 2u], x[at + 3u]);
}

fn read_states(at: u32) -> vec4f {
    return vec4f(states[at], states[at + 1u], states[at + 2u], states[at + 3u]);
}

fn read_d_y(at: u32) -> vec4f {
    return vec4f(d_y[at], d_y[at + 1u], d_y[at + 2u], d_y[at + 3u]);
}

fn write_states(at: u32, values: vec4f, left: u32) {
    for (var i = 0u; i < min(left, 4u); i++) {
        states[at + i] = values[i];
    }
}

fn write_result(at: u32, values: vec4f, left: u32) {
    for (var i = 0u; i < min(left, 4u); i++) {
        result[at + i] = values[i];
    }
}
