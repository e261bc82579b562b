// d_x (+)= r * (w - x * r^2 * mean(w * x)) with w = d_y * scale and r = inverse_rms, per row.
// d_y, x, d_x: (t, m); scale: (groups, m), of which row i takes number i mod groups; inverse_rms: (t).  One workgroup
// per row.  d_x is added to where the residual stream joins.
//! lib: grid reduce

const LANES = 64u;
const ROOT = 8u;

struct Params {
    rows: u32,
    width: u32,
    groups: u32,
    accumulate: u32,
    d_y_offset: u32,
    x_offset: u32,
    scale_offset: u32,
    inverse_rms_offset: u32,
    d_x_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> d_y: array<f32>;
@group(0) @binding(2) var<storage, read_write> x: array<f32>;
@group(0) @binding(3) var<storage, read_write> scale: array<f32>;
@group(0) @binding(4) var<storage, read_write> inverse_rms: array<f32>;
@group(0) @binding(5) var<storage, read_write> d_x: array<f32>;

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
    let begin = row * p.width;
    let own_scale = p.scale_offset + row % p.groups * p.width;
    let r = inverse_rms[p.inverse_rms_offset + row];
    var products = 0.0;
    for (var j = lane; j < p.width; j += LANES) {
        products += d_y[p.d_y_offset + begin + j] * scale[own_scale + j] * x[p.x_offset + begin + j];
    }
    let pull = r * r * (sum_over_lanes(products, lane) / f32(p.width));
    for (var j = lane; j < p.width; j += LANES) {
        let w = d_y[p.d_y_offset + begin + j] * scale[own_scale + j];
        var value = r * (w - x[p.x_offset + begin + j] * pull);
        let at = p.d_x_offset + begin + j;
        if (p.accumulate != 0u) {
            value += d_x[at];
        }
        d_x[at] = value;
    }
}
