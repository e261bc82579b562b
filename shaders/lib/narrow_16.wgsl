// y = x in 16 bits a number.  x: (count); y: (count), two to a word.
// One lane per word, so that no two lanes write to the same one; the neighbours of an odd start or end stay.
//
// The shader that includes this has `narrowed(bits)`: a float32 by its bits, as the 16 bits of its format.

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
    let word = p.y_offset / 2u + flat_group(group, grid) * 256u + lane;
    let low = 2u * word - p.y_offset;  // place in x; wraps round before an odd start
    let high = low + 1u;
    if (low >= p.count && high >= p.count) {
        return;
    }
    var halves = y[word];
    if (low < p.count) {
        halves = (halves & 0xffff0000u) | narrowed(x[p.x_offset + low]);
    }
    if (high < p.count) {
        halves = (halves & 0xffffu) | (narrowed(x[p.x_offset + high]) << 16u);
    }
    y[word] = halves;
}
