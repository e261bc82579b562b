// The load-balancing term of a mixture of experts: loss[0] += factor * n * e * F.P, F and P being the means of counts and
// chances over layers and n tokens; pull = its derivative by a chance, times the scale of gradients.
// counts: (layers, e); chances: (layers, e + 1), the last being n; pull: (e).  One workgroup: these are small.

const LANES = 64u;

struct Params {
    layers: u32,
    experts: u32,
    factor: f32,
    counts_offset: u32,
    chances_offset: u32,
    scalars_offset: u32,
    loss_offset: u32,
    pull_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> counts: array<f32>;
@group(0) @binding(2) var<storage, read_write> chances: array<f32>;
@group(0) @binding(3) var<storage, read_write> scalars: array<f32>;
@group(0) @binding(4) var<storage, read_write> loss: array<f32>;
@group(0) @binding(5) var<storage, read_write> pull: array<f32>;

var<workgroup> products: array<f32, LANES>;

@compute @workgroup_size(LANES)
fn main(@builtin(local_invocation_index) lane: u32) {
    let tokens = chances[p.chances_offset + p.experts];
    let rows = f32(p.layers) * max(tokens, 1.0);
    let experts = f32(p.experts);
    var own = 0.0;
    for (var j = lane; j < p.experts; j += LANES) {
        var count = 0.0;
        var chance = 0.0;
        for (var layer = 0u; layer < p.layers; layer++) {
            count += counts[p.counts_offset + layer * p.experts + j];
            chance += chances[p.chances_offset + layer * (p.experts + 1u) + j];
        }
        own += count / rows * (chance / rows);
        pull[p.pull_offset + j] = p.factor * scalars[p.scalars_offset] * experts * (count / rows) / f32(p.layers);
    }
    products[lane] = own;
    workgroupBarrier();
    if (lane == 0u) {
        var sum = 0.0;
        for (var other = 0u; other < LANES; other++) {
            sum += products[other];
        }
        loss[p.loss_offset] += p.factor * tokens * experts * sum;
    }
}
