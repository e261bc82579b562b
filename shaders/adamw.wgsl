// One AdamW step with decoupled decay on gradient * factor; nothing changes where the factor is 0.
// parameter, gradient, first, second: (count); scalars, statistics: (16).  256 lanes take 1,024 elements.
// The scalars are read from a buffer, not from the parameters: a plan is encoded once and runs with new values each
// step.
//! lib: grid adamw_change

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

fn scalar(slot: u32) -> f32 {
    return scalars[p.scalars_offset + slot];
}

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
    let decay = select(0.0, scalar(WEIGHT_DECAY), p.decay != 0u);
    let step = Step(
        scalar(LEARNING_RATE), scalar(BETA1), scalar(BETA2), scalar(EPSILON), decay,
        scalar(CORRECTION1), scalar(CORRECTION2), scalar(TRUST),
    );
    let begin = flat_group(group, grid) * 1024u;
    for (var i = begin + lane; i < min(begin + 1024u, p.count); i += 256u) {
        let g = gradient[p.gradient_offset + i] * factor;
        let value = parameter[p.parameter_offset + i];
        let now = moved(step, value, g, first[p.first_offset + i], second[p.second_offset + i]);
        first[p.first_offset + i] = now.first;
        second[p.second_offset + i] = now.second;
        parameter[p.parameter_offset + i] = value - now.change;
    }
}
