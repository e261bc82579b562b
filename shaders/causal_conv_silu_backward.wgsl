// Backward of causal_conv_silu: with v the convolution again and dv = d_y * silu'(v),
//   d_x[t] = sum over j of weight[:, j] * dv[t + k - 1 - j]
//   d_weight[:, j] = sum over t of dv[t] * x[t - k + 1 + j];  d_bias = sum over t of dv
// d_y: (b*l, d); x, d_x: (b*l, d), rows apart by their strides; weight: (d, k); d_weight: (b, d, k)?;
// d_bias: (b, d)?.  One lane per (sequence, channel), tokens in order, x and dv of the last k in registers: everything
// is loaded once, the sums need no second pass, and d_x may take the place of x, whose last use was before.
//! lib: grid activation conv_taps

struct Params {
    sequences: u32,
    length: u32,
    width: u32,
    taps: u32,
    has_bias: u32,
    want_d_x: u32,
    want_d_weight: u32,
    want_d_bias: u32,
    x_stride: u32,
    d_x_stride: u32,
    d_y_offset: u32,
    x_offset: u32,
    weight_offset: u32,
    bias_offset: u32,
    d_x_offset: u32,
    d_weight_offset: u32,
    d_bias_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> d_y: array<f32>;
@group(0) @binding(2) var<storage, read_write> x: array<f32>;
@group(0) @binding(3) var<storage, read_write> weight: array<f32>;
@group(0) @binding(4) var<storage, read_write> bias: array<f32>;
@group(0) @binding(5) var<storage, read_write> d_x: array<f32>;
@group(0) @binding(6) var<storage, read_write> d_weight: array<f32>;
@group(0) @binding(7) var<storage, read_write> d_bias: array<f32>;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let unit = flat_group(group, grid);
    let blocks = (p.width + 63u) / 64u;
    let channel = unit % blocks * 64u + lane;
    let sequence = unit / blocks;
    if (sequence >= p.sequences || channel >= p.width) {
        return;
    }
    let taps = load_taps(channel);
    var shift = 0.0;
    if (p.has_bias != 0u) {
        shift = bias[p.bias_offset + channel];
    }
    var window: array<vec4f, QUADS>;
    var dv_window: array<vec4f, QUADS>;
    var d_taps: array<vec4f, QUADS>;
    var d_shift = 0.0;
    // REACH tokens past the end flush the last d_x.
    for (var t = 0u; t < p.length + REACH; t++) {
        var dv = 0.0;
        if (t < p.length) {
            let token = sequence * p.length + t;
            window = moved_on(window, x[p.x_offset + token * p.x_stride + channel]);
            dv = d_y[p.d_y_offset + token * p.width + channel] * silu_derivative(shift + taps_dot(taps, window));
            for (var q = 0u; q < QUADS; q++) {
                d_taps[q] += dv * window[q];
            }
            d_shift += dv;
        }
        dv_window = moved_on(dv_window, dv);
        if (t >= REACH && p.want_d_x != 0u) {
            // dv_window holds dv[t-REACH .. t], and dv[t-REACH+i] met x[t-REACH] through the tap i before the last.
            var sum = 0.0;
            for (var q = 0u; q < QUADS; q++) {
                sum += dot(taps[QUADS - 1u - q].wzyx, dv_window[q]);
            }
            d_x[p.d_x_offset + (sequence * p.length + t - REACH) * p.d_x_stride + channel] = sum;
        }
    }
    if (p.want_d_weight != 0u) {
        for (var j = 0u; j < p.taps; j++) {
            d_weight[p.d_weight_offset + (sequence * p.width + channel) * p.taps + j] = d_taps[(REACH + 1u - p.taps + j) / 4u][(REACH + 1u - p.taps + j) % 4u];
        }
    }
    if (p.want_d_bias != 0u) {
        d_bias[p.d_bias_offset + sequence * p.width + channel] = d_shift;
    }
}
