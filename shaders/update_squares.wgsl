// partials[i] = sums of squares over the i-th equal part: of the gradient, of the parameter, and of the change that
// adamw is about to make (0 where the factor is 0).  parameter, gradient, first, second: (count); scalars, statistics:
// (16); partials: (parts, 3).  One workgroup per part.  Only read: a step with insight moves no weight differently.
//! lib: grid reduce adamw_change

const LANES = 256u;
const ROOT = 16u;

struct Params {
    count: u32,
    decay: u32,
    parameter_offset: u32,
    gradient_offset: u32,
    first_offset: u32,
    second_offset: u32,
    scalars_offset: u32,
    factor_at: u32,
    parts: u32,
    partials_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> parameter: array<f32>;
@group(0) @binding(2) var<storage, read_write> gradient: array<f32>;
@group(0) @binding(3) var<storage, read_write> first: array<f32>;
@group(0) @binding(4) var<storage, read_write> second: array<f32>;
@group(0) @binding(5) var<storage, read_write> scalars: array<f32>;
@group(0) @binding(6) var<storage, read_write> statistics: array<f32>;
@group(0) @binding(7) var<storage, read_write> partials: array<f32>;

fn scalar(slot: u32) -> f32 {
    return scalars[p.scalars_offset + slot];
}

@compute @workgroup_size(LANES)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let part = flat_group(group, grid);
    if (part >= p.parts) {
        return;
    }
    let factor = statistics[p.factor_at];
    let decay = select(0.0, scalar(WEIGHT_DECAY), p.decay != 0u);
    let step = Step(
        scalar(LEARNING_RATE), scalar(BETA1), scalar(BETA2), scalar(EPSILON), decay,
        scalar(CORRECTION1), scalar(CORRECTION2), scalar(TRUST),
    );
    let size = (p.count + p.parts - 1u) / p.parts;
    let begin = part * size;
    var sums = vec3f(0.0);
    for (var i = begin + lane; i < min(begin + size, p.count); i += LANES) {
        let g = gradient[p.gradient_offset + i];
        let value = parameter[p.parameter_offset + i];
        var change = 0.0;
        if (factor != 0.0) {
            change = moved(step, value, g * factor, first[p.first_offset + i], second[p.second_offset + i]).change;
        }
        let values = vec3f(g, value, change);
        sums += values * values;
    }
    let gradients = sum_over_lanes(sums.x, lane);
    let parameters = sum_over_lanes(sums.y, lane);
    let changes = sum_over_lanes(sums.z, lane);
    if (lane == 0u) {
        let at = p.partials_offset + part * 3u;
        partials[at] = gradients;
        partials[at + 1u] = parameters;
        partials[at + 2u] = changes;
    }
}
