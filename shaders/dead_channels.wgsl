// count[0] = number of channels whose square in outputs, or in gradients, is at most share^2 times the mean of all
// channels there.  outputs, gradients: (d).  One workgroup: d is a few thousand at most.
//! lib: reduce

const LANES = 256u;
const ROOT = 16u;

struct Params {
    channels: u32,
    outputs_offset: u32,
    gradients_offset: u32,
    count_offset: u32,
    share: f32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> outputs: array<f32>;
@group(0) @binding(2) var<storage, read_write> gradients: array<f32>;
@group(0) @binding(3) var<storage, read_write> count: array<f32>;

@compute @workgroup_size(LANES)
fn main(@builtin(local_invocation_index) lane: u32) {
    var output_sum = 0.0;
    var gradient_sum = 0.0;
    for (var i = lane; i < p.channels; i += LANES) {
        output_sum += outputs[p.outputs_offset + i];
        gradient_sum += gradients[p.gradients_offset + i];
    }
    let share = p.share * p.share / f32(p.channels);
    let output_limit = share * sum_over_lanes(output_sum, lane);
    let gradient_limit = share * sum_over_lanes(gradient_sum, lane);
    var dead = 0.0;
    for (var i = lane; i < p.channels; i += LANES) {
        if (outputs[p.outputs_offset + i] <= output_limit || gradients[p.gradients_offset + i] <= gradient_limit) {
            dead += 1.0;
        }
    }
    let all = sum_over_lanes(dead, lane);
    if (lane == 0u) {
        count[p.count_offset] = all;
    }
}
