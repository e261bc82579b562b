// losses[i] = log(sum of exp(logits[i])) - logits[i, target], 0 where the target is negative;
// logits become (softmax - onehot) * gradient_scale where the gradient is wanted, 0 in rows without a target.
// logits: (rows, v), rows logits_stride apart; targets, losses: (rows); scalars: (16).
// One workgroup per row; each lane keeps a running maximum and a sum relative to it, so one pass finds both.
//! lib: grid reduce

const LANES = 256u;
const ROOT = 16u;

struct Params {
    rows: u32,
    width: u32,
    want_gradient: u32,
    logits_stride: u32,
    logits_offset: u32,
    targets_offset: u32,
    losses_offset: u32,
    gradient_scale_at: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> logits: array<f32>;
@group(0) @binding(2) var<storage, read_write> targets: array<i32>;
@group(0) @binding(3) var<storage, read_write> losses: array<f32>;
@group(0) @binding(4) var<storage, read_write> scalars: array<f32>;

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
    let begin = p.logits_offset + row * p.logits_stride;
    let goal = targets[p.targets_offset + row];
    let counts = goal >= 0;
    var goal_logit = 0.0;
    if (counts) {
        goal_logit = logits[begin + u32(goal)];
    }

    var largest = -3.0e38;
    var sum = 0.0;
    for (var j = lane; j < p.width; j += LANES) {
        let value = logits[begin + j];
        let ratio = exp(-abs(value - largest));
        sum = select(sum + ratio, sum * ratio + 1.0, value > largest);
        largest = max(largest, value);
    }
    let row_largest = max_over_lanes(largest, lane);
    let row_sum = sum_over_lanes(sum * exp(largest - row_largest), lane);
    if (lane == 0u) {
        losses[p.losses_offset + row] = select(0.0, log(row_sum) + (row_largest - goal_logit), counts);
    }
    if (p.want_gradient != 0u) {
        let scale = select(0.0, scalars[p.gradient_scale_at], counts);
        let weight = scale / row_sum;
        for (var j = lane; j < p.width; j += LANES) {
            let hit = counts && j == u32(goal);
            logits[begin + j] = exp(logits[begin + j] - row_largest) * weight - select(0.0, scale, hit);
        }
    }
}
