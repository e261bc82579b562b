// silu of the convolution over a few tokens of one sequence: y[t] = silu(bias + sum over j of weight[:, j] * x[t-k+1+j]),
// with history (k-1, d)? before the first.  Then history moves on behind the tokens.
// x: (t, d), rows x_stride apart; weight: (d, k); bias: (d)?; y: (t, d).  One lane per channel.
//! lib: grid activation

struct Params {
    tokens: u32,
    width: u32,
    taps: u32,
    x_stride: u32,
    has_bias: u32,
    x_offset: u32,
    weight_offset: u32,
    bias_offset: u32,
    history_offset: u32,
    y_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> weight: array<f32>;
@group(0) @binding(3) var<storage, read_write> bias: array<f32>;
@group(0) @binding(4) var<storage, read_write> history: array<f32>;
@group(0) @binding(5) var<storage, read_write> y: array<f32>;

// Row `at` of history followed by x.
fn input(at: u32, channel: u32) -> f32 {
    let before = p.taps - 1u;
    if (at < before) {
        return history[p.history_offset + at * p.width + channel];
    }
    return x[p.x_offset + (at - before) * p.x_stride + channel];
}

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let channel = flat_group(group, grid) * 64u + lane;
    if (channel >= p.width) {
        return;
    }
    var shift = 0.0;
    if (p.has_bias != 0u) {
        shift = bias[p.bias_offset + channel];
    }
    for (var t = 0u; t < p.tokens; t++) {
        var sum = shift;
        for (var j = 0u; j < p.taps; j++) {
            sum += weight[p.weight_offset + channel * p.taps + j] * input(t + j, channel);
        }
        y[p.y_offset + t * p.width + channel] = silu(sum);
    }
    for (var j = 0u; j + 1u < p.taps; j++) {  // the oldest first: what is read lies after what is written
        history[p.history_offset + j * p.width + channel] = input(p.tokens + j, channel);
    }
}
