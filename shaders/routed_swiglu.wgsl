// g = silu(z) * u * the gate of the row.  joined: (t * k, 2f) holds z and then u in each row; gates: (t, k), by pair;
// order: (t * k), the pair of each row; g: (t * k, f).  256 lanes take 1,024 elements.
//! lib: grid activation

struct Params {
    count: u32,  // t * k * f
    width: u32,  // f
    has_order: u32,
    joined_offset: u32,
    gates_offset: u32,
    order_offset: u32,
    g_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> joined: array<f32>;
@group(0) @binding(2) var<storage, read_write> gates: array<f32>;
@group(0) @binding(3) var<storage, read_write> order: array<i32>;
@group(0) @binding(4) var<storage, read_write> g: array<f32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let begin = flat_group(group, grid) * 1024u;
    for (var i = begin + lane; i < min(begin + 1024u, p.count); i += 256u) {
        let row = i / p.width;
        var pair = row;
        if (p.has_order == 1u) {
            pair = u32(order[p.order_offset + row]);
        }
        let z = p.joined_offset + row * 2u * p.width + i % p.width;
        g[p.g_offset + i] = silu(joined[z]) * joined[z + p.width] * gates[p.gates_offset + pair];
    }
}
