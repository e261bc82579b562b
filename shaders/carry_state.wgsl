// state = kept[count - 1]; it stays where count is 0.  kept: (rows, size); state: (size); count: (1)?, the last row where
// it is absent.  256 lanes take 1,024 elements.
//! lib: grid

struct Params {
    rows: u32,
    size: u32,
    has_count: u32,
    kept_offset: u32,
    state_offset: u32,
    count_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> kept: array<f32>;
@group(0) @binding(2) var<storage, read_write> state: array<f32>;
@group(0) @binding(3) var<storage, read_write> count: array<i32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    var taken = p.rows;
    if (p.has_count != 0u) {
        taken = u32(count[p.count_offset]);
    }
    if (taken == 0u) {
        return;
    }
    let begin = flat_group(group, grid) * 1024u;
    for (var i = begin + lane; i < min(begin + 1024u, p.size); i += 256u) {
        state[p.state_offset + i] = kept[p.kept_offset + (taken - 1u) * p.size + i];
    }
}
