// y = x as float32, bit for bit.  x: (count) of 16 bits, two to a word; y: (count).  256 lanes take 1,024 elements.
//
// The shader that includes this has `widened(half)`: the 16 bits of its format, as the bits of a float32.

struct Params {
    count: u32,
    x_offset: u32,
    y_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> x: array<u32>;
@group(0) @binding(2) var<storage, read_write> y: array<u32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let begin = flat_group(group, grid) * 1024u;
    for (var k = begin + lane; k < min(begin + 1024u, p.count); k += 256u) {
        let i = p.x_offset + k;
        y[p.y_offset + k] = widened((x[i / 2u] >> (16u * (i % 2u))) & 0xffffu);
    }
}
