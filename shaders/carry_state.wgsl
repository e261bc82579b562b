// state = the last row of kept.  kept: (rows, size); state: (size).  256 lanes take 1,024 elements.
//! lib: grid

struct Params {
    rows: u32,
    size: u32,
    kept_offset: u32,
    state_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> kept: array<f32>;
@group(0) @binding(2) var<storage, read_write> state: array<f32>;

@compute @workgroup_size(256)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let begin = flat_group(group, grid) * 1024u;
    for (var i = begin + lane; i < min(begin + 1024u, p.size); i += 256u) {
        state[p.state_offset + i] = kept[p.kept_offset + (p.rows - 1u) * p.size + i];
    }
}
