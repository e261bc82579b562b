// y += factor * the sum of the k rows of each token.  rows: (t * k, m); places: (t, k), where the rows of a token are;
// without it they follow each other; y: (t, m).  256 lanes take 1,024 elements of y, and add up in the order of choices.
//! lib: grid

struct Params {
    count: u32,  // t * m
    width: u32,  // m
    k: u32,
    has_places: u32,
    factor: f32,
    rows_offset: u32,
    places_offset: u32,
    y_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> rows: array<f32>;
@group(0) @binding(2) var<storage, read_write> places: array<i32>;
@group(0) @binding(3) var<storage, read_write> y: array<f32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let begin = flat_group(group, grid) * 1024u;
    for (var i = begin + lane; i < min(begin + 1024u, p.count); i += 256u) {
        let first = i / p.width * p.k;
        var sum = 0.0;
        for (var c = 0u; c < p.k; c++) {
            var row = first + c;
            if (p.has_places == 1u) {
                row = u32(places[p.places_offset + row]);
            }
            sum += rows[p.rows_offset + row * p.width + i % p.width];
        }
        y[p.y_offset + i] += p.factor * sum;
    }
}
