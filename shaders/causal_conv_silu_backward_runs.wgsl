// causal_conv_silu_backward for GPUs: one lane per (sequence, 64 tokens, channel), which also computes the dv of the few
// tokens behind its own.  d_taps and d_shift of each run go to scratch (b, runs, k+1, d), to be added up by
// causal_conv_silu_backward_sum.  d_x may not take the place of x here: neighbours read it.
//! lib: grid activation conv_taps

const RUN = 64u;

struct Params {
    sequences: u32,
    length: u32,
    width: u32,
    taps: u32,
    has_bias: u32,
    want_d_x: u32,
    x_stride: u32,
    d_x_stride: u32,
    d_y_offset: u32,
    x_offset: u32,
    weight_offset: u32,
    bias_offset: u32,
    d_x_offset: u32,
    scratch_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> d_y: array<f32>;
@group(0) @binding(2) var<storage, read_write> x: array<f32>;
@group(0) @binding(3) var<storage, read_write> weight: array<f32>;
@group(0) @binding(4) var<storage, read_write> bias: array<f32>;
@group(0) @binding(5) var<storage, read_write> d_x: array<f32>;
@group(0) @binding(6) var<storage, read_write> scratch: array<f32>;

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
    let run = unit / blocks % runs;
    let sequence = unit / blocks / runs;
    if (sequence >= p.sequences || channel >= p.width) {
        return;
    }
    let first = sequence * p.length;
    let begin = run * RUN;
    let stop = min(begin + RUN, p.length);
    let taps = load_taps(channel);
    var shift = 0.0;
    if (p.has_bias != 0u) {
        shift = bias[p.bias_offset + channel];
    }
    var window: array<vec4f, QUADS>;
    var dv_window: array<vec4f, QUADS>;
    var d_taps: array<vec4f, QUADS>;
    var d_shift = 0.0;
    for (var t = begin - min(begin, REACH); t < begin; t++) {
        window = moved_on(window, x[p.x_offset + (first + t) * p.x_stride + channel]);
    }
    for (var t = begin; t < stop + REACH; t++) {
        var dv = 0.0;
        if (t < p.length) {
            window = moved_on(window, x[p.x_offset + (first + t) * p.x_stride + channel]);
            dv = d_y[p.d_y_offset + (first + t) * p.width + channel] * silu_derivative(shift + taps_dot(taps, window));
        }
        if (t < stop) {
            for (var q = 0u; q < QUADS; q++) {
                d_taps[q] += dv * window[q];
            }
            d_shift += dv;
        }
        dv_window = moved_on(dv_window, dv);
        if (t >= begin + REACH && p.want_d_x != 0u) {
            // dv_window holds dv[t-REACH .. t], and dv[t-REACH+i] met x[t-REACH] through the tap i before the last.
            var sum = 0.0;
            for (var q = 0u; q < QUADS; q++) {
                sum += dot(taps[QUADS - 1u - q].wzyx, dv_window[q]);
            }
            d_x[p.d_x_offset + (first + t - REACH) * p.d_x_stride + channel] = sum;
        }
    }
    let at = p.scratch_offset + (sequence * runs + run) * (p.taps + 1u) * p.width + channel;
    for (var j = 0u; j < p.taps; j++) {
        let place = REACH + 1u - p.taps + j;
        scratch[at + j * p.width] = d_taps[place / 4u][place % 4u];
    }
    scratch[at + p.taps * p.width] = d_shift;
}
