// y[t] = silu(bias + sum over j of weight[:, j] * x[t - k + 1 + j]); before the start: zero, or history.
// x: (b*l, d), rows x_stride apart; weight: (d, k); bias: (d)?; history: (b, k-1, d)?; y: (b*l, d).
// One lane per (sequence, 16 tokens, channel): the last k of x stay in registers, so each is loaded once.
//! lib: grid activation conv_taps

const RUN = 16u;

struct Params {
    sequences: u32,
    length: u32,
    width: u32,
    taps: u32,
    has_bias: u32,
    has_history: u32,
    x_stride: u32,
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

// x at `back` tokens before token t.
fn earlier(sequence: u32, t: u32, back: u32, channel: u32) -> f32 {
    if (t >= back) {
        return x[p.x_offset + (sequence * p.length + t - back) * p.x_stride + channel];
    }
    if (p.has_history == 0u || back - t >= p.taps) {
        return 0.0;
    }
    return history[p.history_offset + ((sequence + 1u) * (p.taps - 1u) - (back - t)) * p.width + channel];
}

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let unit = flat_group(group, grid);
    let blocks = (p.width + 63u) / 64u;
    let runs = (p.length + RUN - 1u) / RUN;
    let channel = unit % blocks * 64u + lane;
    let begin = unit / blocks % runs * RUN;
    let sequence = unit / blocks / runs;
    if (sequence >= p.sequences || channel >= p.width) {
        return;
    }
    let taps = load_taps(channel);
    var shift = 0.0;
    if (p.has_bias != 0u) {
        shift = bias[p.bias_offset + channel];
    }
    var window: array<vec4f, QUADS>;
    for (var back = REACH; back > 0u; back--) {
        window = moved_on(window, earlier(sequence, begin, back, channel));
    }
    for (var t = begin; t < min(begin + RUN, p.length); t++) {
        let token = sequence * p.length + t;
        window = moved_on(window, x[p.x_offset + token * p.x_stride + channel]);
        y[p.y_offset + token * p.width + channel] = silu(shift + taps_dot(taps, window));
    }
}
