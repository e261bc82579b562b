// One AdamW step with decoupled decay on gradient * factor; nothing changes where the factor is 0.
//   first = b1 * first + (1 - b1) * g;  second = b2 * second + (1 - b2) * g^2
//   parameter -= rate * (first / c1 / (sqrt(second / c2) + epsilon) + decay * parameter)
// The change of one parameter stays within +-trust where trust > 0.
// parameter, gradient, first, second: (count); scalars, statistics: (16).  256 lanes take 1,024 elements.
// The scalars are read from a buffer, not from the parameters: a plan is encoded once and runs with new values each
// step.
//! lib: grid

struct Params {
    count: u32,
    decay: u32,
    parameter_offset: u32,
    gradient_offset: u32,
    first_offset: u32,
    second_offset: u32,
    scalars_offset: u32,
    factor_at: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> parameter: array<f32>;
@group(0) @binding(2) var<storage, read_write> gradient: array<f32>;
@group(0) @binding(3) var<storage, read_write> first: array<f32>;
@group(0) @binding(4) var<storage, read_write> second: array<f32>;
@group(0) @binding(5) var<storage, read_write> scalars: array<f32>;
@group(0) @binding(6) var<storage, read_write> statistics: array<f32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let factor = statistics[p.factor_at];
    if (factor == 0.0) {
        return;
    }
    let rate = scalars[p.scalars_offset + LEARNING_RATE];
    let beta1 = scalars[p.scalars_offset + BETA1];
    let beta2 = scalars[p.scalars_offset + BETA2];
    let epsilon = scalars[p.scalars_offset + EPSILON];
    let decay = select(0.0, scalars[p.scalars_offset + WEIGHT_DECAY], p.decay != 0u);
    let correction1 = scalars[p.scalars_offset + CORRECTION1];
    let correction2 = scalars[p.scalars_offset + CORRECTION2];
    let trust = scalars[p.scalars_offset + TRUST];

    let begin = flat_group(group, grid) * 1024u;
    for (var i = begin + lane; i < min(begin + 1024u, p.count); i += 256u) {
        let g = gradient[p.gradient_offset + i] * factor;
        let m = beta1 * first[p.first_offset + i] + (1.0 - beta1) * g;
        let v = beta2 * second[p.second_offset + i] + (1.0 - beta2) * g * g;
        first[p.first_offset + i] = m;
        second[p.second_offset + i] = v;
        let value = parameter[p.parameter_offset + i];
        var change = rate * (m / correction1 / (sqrt(v / correction2) + epsilon) + decay * value);
        if (trust > 0.0) {
            change = clamp(change, -trust, trust);
        }
        parameter[p.parameter_offset + i] = value - change;
    }
}
