// history (before, d) becomes the last `before` rows of history followed by x (rows, d), rows x_stride apart.
// One lane per channel, from the oldest row on: what it reads lies at or after what it writes, so it needs no second copy.
//! lib: grid

struct Params {
    rows: u32,
    before: u32,
    width: u32,
    x_stride: u32,
    x_offset: u32,
    history_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> history: array<f32>;

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
    for (var j = 0u; j < p.before; j++) {
        let source = p.rows + j;
        var value: f32;
        if (source < p.before) {
            value = history[p.history_offset + source * p.width + channel];
        } else {
            value = x[p.x_offset + (source - p.before) * p.x_stride + channel];
        }
        history[p.history_offset + j * p.width + channel] = value;
    }
}
