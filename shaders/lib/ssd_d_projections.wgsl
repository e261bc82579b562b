// d_C, or d_B, of each chunk and group, summed over the group's heads: a workgroup has 64 tokens x 32 states.  Where
// there are several projection_parts it has some of the heads, and the sums go to the workspace at projections_at:
// (parts, t, g*n).
//
//   of_B 0   d_C_i = sum over j of d_S_ij B_j + sum over the heads of (decay up to i) h d_y_i
//   of_B 1   d_B_j = sum over i of d_S_ij C_i + sum over the heads of (decay after j) Delta_j g x_j
//
// d_S as ssd_d_scores leaves it, h (n, e) the state before the chunk and g, in the slot behind it, the gradient of the
// state there.

override of_B: u32 = 0u;

fn source_row(token: u32) -> u32 {
    if (of_B == 1u) {
        return p.x_offset + token * p.row;
    }
    return p.d_y_offset + token * p.heads * p.head_dim;
}

fn read_source(at: u32) -> vec4f {
    if (of_B == 1u) {
        return read_x(at);
    }
    return read_d_y(at);
}

fn weight(i: u32) -> f32 {
    if (of_B == 1u) {
        return decay_after(i) * Delta[i];
    }
    return decay_up_to(i);
}

// d_S, of whose parts `scores` is the first, at lines line .. line+3 and k .. k+3, or, for d_B, transposed.
fn d_scores_patch(scores: u32, line: u32, k: u32) -> mat4x4f {
    let part_size = p.sequences * p.chunks * p.groups * CHUNK * CHUNK;
    var columns = mat4x4f();
    for (var q = 0u; q < 4u; q++) {
        var at = scores + select(line * CHUNK + k + q, (k + q) * CHUNK + line, of_B == 1u);
        let step = select(CHUNK, 1u, of_B == 1u);
        var sums = vec4f();
        for (var part = 0u; part < p.score_parts; part++) {
            sums += bitcast<vec4f>(
                vec4u(workspace[at], workspace[at + step], workspace[at + 2u * step], workspace[at + 3u * step])
            );
            at += part_size;
        }
        columns = mat4x4f(columns[1], columns[2], columns[3], sums);
    }
    return columns;
}

fn write_part(place: u32, sums: vec4f, left: u32) {
    for (var i = 0u; i < min(left, 4u); i++) {
        workspace[p.projections_at + place + i] = bitcast<u32>(sums[i]);
    }
}

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) place: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let tiles = (p.state_size + 31u) / 32u;
    let flat = flat_group(place, grid);
    if (flat >= p.sequences * p.chunks * p.groups * tiles * p.projection_parts) {
        return;
    }
    let n = flat % tiles * 32u;
    let group = flat / tiles % p.groups;
    let chunks = p.sequences * p.chunks;
    let chunk = flat / tiles / p.groups % chunks;
    let part = flat / tiles / p.groups / chunks;
    let share = p.heads / p.groups;
    let last_head = group * share + (part + 1u) * share / p.projection_parts;
    let first = first_token(chunk);
    let count = tokens_of(chunk);
    let scores = p.d_scores_at + (chunk * p.groups + group) * CHUNK * CHUNK;
    let given = group + (1u - of_B) * p.groups;  // the columns that are written
    let other = group + of_B * p.groups;
    clear_sums();

    let inside = left_place(lane, of_B == 0u);
    let rows = right_place(lane, false);
    let tokens_of_first = select(0u, count, part == 0u);  // what the tokens give each other is in the first part
    for (var k = 0u; k < tokens_of_first; k += 16u) {
        put_left(inside, d_scores_patch(scores, inside.x, k + inside.y));
        if (lane < 32u) {
            let j = first + min(vec4u(k + rows.y) + vec4u(0u, 1u, 2u, 3u), vec4u(count - 1u));
            let state = n + rows.x;
            put_right(rows, cut(mat4x4f(
                read_x(B_of(j.x, other) + state),
                read_x(B_of(j.y, other) + state),
                read_x(B_of(j.z, other) + state),
                read_x(B_of(j.w, other) + state),
            ), k + rows.y, count));
        }
        add_products(lane);
    }

    let left = left_place(lane, true);
    let right = right_place(lane, true);
    let line = min(vec4u(left.x) + vec4u(0u, 1u, 2u, 3u), vec4u(count - 1u));
    let sources = vec4u(
        source_row(first + line.x), source_row(first + line.y), source_row(first + line.z), source_row(first + line.w),
    );
    let states_of = min(vec4u(n + right.x) + vec4u(0u, 1u, 2u, 3u), vec4u(p.state_size - 1u)) * p.head_dim;
    for (var head = group * share + part * share / p.projection_parts; head < last_head; head++) {
        load_steps(first, count, head, lane);
        workgroupBarrier();
        let weights = vec4f(weight(line.x), weight(line.y), weight(line.z), weight(line.w));
        let state = state_before(chunk, head) + of_B * p.heads * p.state_size * p.head_dim;
        for (var k = 0u; k < p.head_dim; k += 16u) {
            let channel = k + left.y;
            let at = sources + head * p.head_dim + channel;
            put_left(left, cut(each_line(
                transpose(mat4x4f(read_source(at.x), read_source(at.y), read_source(at.z), read_source(at.w))), weights,
            ), channel, p.head_dim));
            if (lane < 32u) {
                let state_at = state + states_of + k + right.y;
                put_right(right, cut(transpose(mat4x4f(
                    read_states(state_at.x), read_states(state_at.y), read_states(state_at.z), read_states(state_at.w),
                )), k + right.y, p.head_dim));
            }
            add_products(lane);
        }
    }

    let column = n + lane % 8u * 4u;
    for (var r = 0u; r < 8u; r++) {
        let i = line_of(r, lane);
        let sums = next_line();
        if (i < count && column < p.state_size) {
            if (p.projection_parts == 1u) {
                let at = B_of(first + i, given) - p.x_offset + p.result_offset + column;
                write_result(at, sums, p.state_size - column);
            } else {
                let row = part * p.sequences * p.length + first + i;
                write_part((row * p.groups + group) * p.state_size + column, sums, p.state_size - column);
            }
        }
    }
}
