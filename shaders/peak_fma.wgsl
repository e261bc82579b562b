// Multiplications and additions in registers alone: how fast this adapter computes.  y: (lanes).  A turn of the loop has
// 8 independent sums of 4, so 64 operations; the result is written, or a compiler would leave all of it out.  Not a
// kernel of the engine; see engine/devices/webgpu/peaks.py.
//! lib: grid

struct Params {
    turns: u32,
    factor: f32,
    addend: f32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let i = flat_group(group, grid) * 256u + lane;
    let factor = vec4f(p.factor);
    let addend = vec4f(p.addend);
    var a = vec4f(f32(i));
    var b = a + 1.0;
    var c = a + 2.0;
    var d = a + 3.0;
    var e = a + 4.0;
    var f = a + 5.0;
    var g = a + 6.0;
    var h = a + 7.0;
    for (var turn = 0u; turn < p.turns; turn++) {
        a = a * factor + addend;
        b = b * factor + addend;
        c = c * factor + addend;
        d = d * factor + addend;
        e = e * factor + addend;
        f = f * factor + addend;
        g = g * factor + addend;
        h = h * factor + addend;
    }
    y[i] = dot(a + b + c + d + e + f + g + h, vec4f(1.0));
}
