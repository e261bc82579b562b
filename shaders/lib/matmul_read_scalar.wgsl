// Reads four neighbouring numbers of a or b, one by one: for views that begin or advance off the grid of 4.

@group(0) @binding(1) var<storage, read_write> a: array<f32>;
@group(0) @binding(2) var<storage, read_write> b: array<f32>;

fn read_a(at: u32) -> vec4f {
    return vec4f(a[at], a[at + 1u], a[at + 2u], a[at + 3u]);
}

fn read_b(at: u32) -> vec4f {
    return vec4f(b[at], b[at + 1u], b[at + 2u], b[at + 3u]);
}
