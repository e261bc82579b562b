// d_table[ids[i] - first_row] += d_y[i], equal ids in order of position, so the same run gives the same bits.
// ids, order: (t), order being the stable argsort of ids; d_y: (t, m); d_table: (rows, m).
// One workgroup per (sorted position, 64 columns); only where a run of equal ids starts does it work, and then for the
// whole run.
//! lib: grid

struct Params {
    tokens: u32,
    rows: u32,
    width: u32,
    first_row: u32,
    ids_offset: u32,
    order_offset: u32,
    d_y_offset: u32,
    d_table_offset: u32,
}

@group(0) @binding(0) var<uniform> p: Params;
@group(0) @binding(1) var<storage, read_write> ids: array<i32>;
@group(0) @binding(2) var<storage, read_write> order: array<i32>;
@group(0) @binding(3) var<storage, read_write> d_y: array<f32>;
@group(0) @binding(4) var<storage, read_write> d_table: array<f32>;

fn token_at(position: u32) -> u32 {
    return u32(order[p.order_offset + position]);
}

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let unit = flat_group(group, grid);
    let blocks = (p.width + 63u) / 64u;
    let begin = unit / blocks;
    let column = unit % blocks * 64u + lane;
    if (begin >= p.tokens || column >= p.width) {
        return;
    }
    let id = ids[p.ids_offset + token_at(begin)];
    let row = u32(id) - p.first_row;
    if (row >= p.rows) {
        return;
    }
    if (begin > 0u) {
        if (ids[p.ids_offset + token_at(begin - 1u)] == id) {
            return;
        }
    }
    let at = p.d_table_offset + row * p.width + column;
    var sum = d_table[at];
    for (var position = begin; position < p.tokens; position++) {
        let token = token_at(position);
        if (ids[p.ids_offset + token] != id) {
            break;
        }
        sum += d_y[p.d_y_offset + token * p.width + column];
    }
    d_table[at] = sum;
}
