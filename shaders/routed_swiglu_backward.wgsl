// In place: joined (t * k, 2f), z and then u in each row, becomes its gradient; g (t * k, f) is made again; d_gates (t, k).
// d_g: (t * k, f); gates: (t, k), by pair; order: (t * k), the pair of each row.  A workgroup takes a row, because the
// gradient of its gate is a sum over the row.
//! lib: grid activation reduce

const LANES = 64u;
const ROOT = 8u;

struct Params {
    rows: u32,
    width: u32,  // f
    d_g_offset: u32,
    joined_offset: u32,
    gates_offset: u32,
    order_offset: u32,
    g_offset: u32,
    d_gates_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> d_g: array<f32>;
@group(0) @binding(2) var<storage, read_write> joined: array<f32>;
@group(0) @binding(3) var<storage, read_write> gates: array<f32>;
@group(0) @binding(4) var<storage, read_write> order: array<i32>;
@group(0) @binding(5) var<storage, read_write> g: array<f32>;
@group(0) @binding(6) var<storage, read_write> d_gates: array<f32>;

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let row = flat_group(group, grid);
    if (row >= p.rows) {
        return;
    }
    let pair = u32(order[p.order_offset + row]);
    let gate = gates[p.gates_offset + pair];
    var own = 0.0;
    for (var j = lane; j < p.width; j += LANES) {
        let at = p.joined_offset + row * 2u * p.width + j;
        let z = joined[at];
        let u = joined[at + p.width];
        let d = d_g[p.d_g_offset + row * p.width + j];
        let activated = silu(z);
        own += d * activated * u;
        g[p.g_offset + row * p.width + j] = activated * u * gate;
        joined[at] = d * gate * u * silu_derivative(z);
        joined[at + p.width] = d * gate * activated;
    }
    let sum = sum_over_lanes(own, lane);
    if (lane == 0u) {
        d_gates[p.d_gates_offset + pair] = sum;
    }
}
