// d_weight (b, d, k)? and d_bias (b, d)? from what causal_conv_silu_backward_runs leaves for each run in scratch
// (b, runs, k+1, d), always in the order of the runs.  One lane per (sequence, row of a run, channel).
//! lib: grid

struct Params {
    sequences: u32,
    runs: u32,
    width: u32,
    taps: u32,
    want_d_weight: u32,
    want_d_bias: u32,
    scratch_offset: u32,
    d_weight_offset: u32,
    d_bias_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> scratch: array<f32>;
@group(0) @binding(2) var<storage, read_write> d_weight: array<f32>;
@group(0) @binding(3) var<storage, read_write> d_bias: array<f32>;

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let unit = flat_group(group, grid);
    let blocks = (p.width + 63u) / 64u;
    let rows = p.taps + 1u;
    let channel = unit % blocks * 64u + lane;
    let row = unit / blocks % rows;
    let sequence = unit / blocks / rows;
    if (sequence >= p.sequences || channel >= p.width) {
        return;
    }
    var sum = 0.0;
    for (var run = 0u; run < p.runs; run++) {
        sum += scratch[p.scratch_offset + ((sequence * p.runs + run) * rows + row) * p.width + channel];
    }
    if (row < p.taps) {
        if (p.want_d_weight != 0u) {
            d_weight[p.d_weight_offset + (sequence * p.width + channel) * p.taps + row] = sum;
        }
    } else if (p.want_d_bias != 0u) {
        d_bias[p.d_bias_offset + sequence * p.width + channel] = sum;
    }
}
