// The gradient of the scores S_ij = C_i B_j of each chunk and group, summed over the group's heads:
//
//   d_S_ij = sum over the heads of L_ij Delta_j d_y_i x_j        i >= j, L_ij the decay after token j up to i
//
// at d_scores_at in the workspace: (score_parts, chunks of all sequences, g, 64, 64), each part a sum over some of the
// heads, zero above the diagonal and past the last token.  A workgroup has 32 of the columns j of one part, chunk and
// group.

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) place: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let flat = flat_group(place, grid);
    if (flat >= p.sequences * p.chunks * p.groups * p.score_parts * 2u) {
        return;
    }
    let first_column = flat % 2u * 32u;
    let group = flat / 2u % p.groups;
    let chunks = p.sequences * p.chunks;
    let chunk = flat / 2u / p.groups % chunks;
    let part = flat / 2u / p.groups / chunks;
    let share = p.heads / p.groups;
    let last_head = group * share + (part + 1u) * share / p.score_parts;
    let first = first_token(chunk);
    let count = tokens_of(chunk);
    let left = left_place(lane, true);
    let right = right_place(lane, true);
    let width = p.heads * p.head_dim;
    let i = first + min(vec4u(left.x) + vec4u(0u, 1u, 2u, 3u), vec4u(count - 1u));
    let j = first + min(vec4u(first_column + right.x) + vec4u(0u, 1u, 2u, 3u), vec4u(count - 1u));
    let d_y_rows = p.d_y_offset + i * width;
    let x_rows = p.x_offset + j * p.row;
    let column = first_column + lane % 8u * 4u;
    var sums_above = mat4x4f();
    var sums_below = mat4x4f();
    for (var head = group * share + part * share / p.score_parts; head < last_head; head++) {
        load_steps(first, count, head, lane);
        clear_sums();
        for (var k = 0u; k < p.head_dim; k += 16u) {
            let channel = k + left.y;
            let at = d_y_rows + head * p.head_dim + channel;
            put_left(left, cut(
                transpose(mat4x4f(read_d_y(at.x), read_d_y(at.y), read_d_y(at.z), read_d_y(at.w))), channel, p.head_dim,
            ));
            if (lane < 32u) {
                let x_channel = k + right.y;
                let x_at = x_rows + head * p.head_dim + x_channel;
                put_right(right, cut(
                    transpose(mat4x4f(read_x(x_at.x), read_x(x_at.y), read_x(x_at.z), read_x(x_at.w))),
                    x_channel, p.head_dim,
                ));
            }
            add_products(lane);
        }
        let steps_of_columns = vec4f(Delta[column], Delta[column + 1u], Delta[column + 2u], Delta[column + 3u]);
        for (var r = 0u; r < 8u; r++) {
            let sums = next_line() * steps_of_columns * decays_of(line_of(r, lane), column, count);
            let above = sums_above[0];
            sums_above = mat4x4f(sums_above[1], sums_above[2], sums_above[3], sums_below[0]);
            sums_below = mat4x4f(sums_below[1], sums_below[2], sums_below[3], above + sums);
        }
        workgroupBarrier();
    }
    let scores = p.d_scores_at + ((part * chunks + chunk) * p.groups + group) * CHUNK * CHUNK + column;
    for (var r = 0u; r < 8u; r++) {
        let at = scores + line_of(r, lane) * CHUNK;
        let sums = sums_above[0];
        sums_above = mat4x4f(sums_above[1], sums_above[2], sums_above[3], sums_below[0]);
        sums_below = mat4x4f(sums_below[1], sums_below[2], sums_below[3], vec4f());
        workspace[at] = bitcast<u32>(sums.x);
        workspace[at + 1u] = bitcast<u32>(sums.y);
        workspace[at + 2u] = bitcast<u32>(sums.z);
        workspace[at + 3u] = bitcast<u32>(sums.w);
    }
}

// From the tokens of four columns to token i; zero where that is the wrong way round or past the last.
fn decays_of(i: u32, column: u32, count: u32) -> vec4f {
    let later = decayed[i];
    let decays = vec4f(
        decay(decayed[column], later),
        decay(decayed[column + 1u], later),
        decay(decayed[column + 2u], later),
        decay(decayed[column + 3u], later),
    );
    let until = select(0u, i + 1u, i < count);
    return select(vec4f(), decays, vec4u(column) + vec4u(0u, 1u, 2u, 3u) < vec4u(until));
}
