// What the tokens of a chunk give each other and get from the state, head by head: a workgroup has the 64 tokens of one
// chunk and 32 channels of one head.  With S_ij = C_i B_j, L_ij the decay after j up to i, h the state before the chunk
// and g the gradient of the one behind it:
//
//   mode 0   y_i = m_i + (D + S_ii Delta_i) x_i
//            m_i = sum over j < i of S_ij L_ij Delta_j x_j + (decay up to i) C_i^T h
//   mode 1   rows (0, ...) = m_i d_y_i
//   mode 2   d_x_j = Delta_j (w_j + S_jj d_y_j) + D d_y_j
//            w_j = sum over i > j of S_ij L_ij d_y_i + (decay after j) B_j^T g
//            rows (1, ...) = w_j x_j,    rows (2, ...) = d_y_j x_j
//
// The rows lie in the workspace at rows_at: (3, tiles, t, h), sums over the channels of a workgroup.  The diagonal is
// kept apart since ssd_d_steps.wgsl takes differences of these sums, in which it would only leave its rounding.

override mode: u32 = 0u;

var<workgroup> row_shares: array<f32, 512>;

// S_ij L_ij below the diagonal, else 0; `scores` is where S begins.
fn mixing(scores: u32, i: u32, j: u32, count: u32) -> f32 {
    let score = bitcast<f32>(workspace[scores + i * CHUNK + j]);
    return select(0.0, score * decay(decayed[j], decayed[i]), j < i && i < count);
}

// Lines i .. i+3 at tokens j .. j+3 that give to them, or, in mode 2, lines j .. j+3 that gave to the tokens i .. i+3.
fn mixing_patch(scores: u32, line: u32, k: u32, count: u32) -> mat4x4f {
    var columns = mat4x4f();
    for (var q = 0u; q < 4u; q++) {
        var values = vec4f();
        if (mode == 2u && k + q > line) {
            let i = k + q;
            values = vec4f(
                mixing(scores, i, line, count),
                mixing(scores, i, line + 1u, count),
                mixing(scores, i, line + 2u, count),
                mixing(scores, i, line + 3u, count),
            );
        } else if (mode != 2u && k + q < line + 3u) {
            let j = k + q;
            values = Delta[j] * vec4f(
                mixing(scores, line, j, count),
                mixing(scores, line + 1u, j, count),
                mixing(scores, line + 2u, j, count),
                mixing(scores, line + 3u, j, count),
            );
        }
        columns = mat4x4f(columns[1], columns[2], columns[3], values);
    }
    return columns;
}

fn source_row(token: u32, head: u32) -> u32 {
    if (mode == 2u) {
        return p.d_y_offset + (token * p.heads + head) * p.head_dim;
    }
    return p.x_offset + token * p.row + head * p.head_dim;
}

fn read_source(at: u32) -> vec4f {
    if (mode == 2u) {
        return read_d_y(at);
    }
    return read_x(at);
}

fn weight(i: u32) -> f32 {
    if (mode == 2u) {
        return decay_after(i);
    }
    return decay_up_to(i);
}

// The share of line i in a lane's four columns; every lane is to set all of its eight lines.
fn set_share(i: u32, lane: u32, products: vec4f, live: vec4<bool>) {
    row_shares[i * 8u + lane % 8u] = dot(select(vec4f(), products, live), vec4f(1.0));
}

fn store_rows(kind: u32, tile: u32, tiles: u32, first: u32, count: u32, head: u32, lane: u32) {
    workgroupBarrier();
    if (lane < count) {
        var sum = 0.0;
        for (var i = 0u; i < 8u; i++) {
            sum += row_shares[lane * 8u + i];
        }
        let row = (kind * tiles + tile) * p.sequences * p.length + first + lane;
        workspace[p.rows_at + row * p.heads + head] = bitcast<u32>(sum);
    }
    workgroupBarrier();
}

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) place: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let tiles = (p.head_dim + 31u) / 32u;
    let flat = flat_group(place, grid);
    if (flat >= p.sequences * p.chunks * p.heads * tiles) {
        return;
    }
    let tile = flat % tiles;
    let head = flat / tiles % p.heads;
    let chunk = flat / tiles / p.heads;
    let group = head / (p.heads / p.groups);
    let first = first_token(chunk);
    let count = tokens_of(chunk);
    let scores = p.scores_at + (chunk * p.groups + group) * CHUNK * CHUNK;
    load_steps(first, count, head, lane);
    workgroupBarrier();
    clear_sums();

    let inside = left_place(lane, mode != 2u);
    let right = right_place(lane, false);
    let channel = tile * 32u + right.x;
    for (var k = 0u; k < count; k += 16u) {
        put_left(inside, mixing_patch(scores, inside.x, k + inside.y, count));
        if (lane < 32u) {
            let j = first + min(vec4u(k + right.y) + vec4u(0u, 1u, 2u, 3u), vec4u(count - 1u));
            put_right(right, cut(mat4x4f(
                read_source(source_row(j.x, head) + channel),
                read_source(source_row(j.y, head) + channel),
                read_source(source_row(j.z, head) + channel),
                read_source(source_row(j.w, head) + channel),
            ), k + right.y, count));
        }
        add_products(lane);
    }

    let left = left_place(lane, true);
    let line = min(vec4u(left.x) + vec4u(0u, 1u, 2u, 3u), vec4u(count - 1u));
    let weights = vec4f(weight(line.x), weight(line.y), weight(line.z), weight(line.w));
    var rows_group = group + p.groups;  // C
    var state = state_before(chunk, head);
    if (mode == 2u) {
        rows_group = group;
        state += p.heads * p.state_size * p.head_dim;
    }
    for (var k = 0u; k < p.state_size; k += 16u) {
        let n = k + left.y;
        put_left(left, cut(each_line(transpose(mat4x4f(
            read_x(B_of(first + line.x, rows_group) + n),
            read_x(B_of(first + line.y, rows_group) + n),
            read_x(B_of(first + line.z, rows_group) + n),
            read_x(B_of(first + line.w, rows_group) + n),
        )), weights), n, p.state_size));
        if (lane < 32u) {
            let m = k + right.y;
            let rows = state + min(vec4u(m) + vec4u(0u, 1u, 2u, 3u), vec4u(p.state_size - 1u)) * p.head_dim + channel;
            put_right(right, cut(mat4x4f(
                read_states(rows.x),
                read_states(rows.y),
                read_states(rows.z),
                read_states(rows.w),
            ), m, p.state_size));
        }
        add_products(lane);
    }

    let D = coefficients[p.coefficients_offset + p.heads + head];
    let column = tile * 32u + lane % 8u * 4u;
    let live = vec4u(column) + vec4u(0u, 1u, 2u, 3u) < vec4u(p.head_dim);
    for (var r = 0u; r < 8u; r++) {
        let i = line_of(r, lane);
        let sums = next_line();
        return_line(sums);
        let token = first + min(i, count - 1u);
        let own = bitcast<f32>(workspace[scores + i * CHUNK + i]);
        let stored = i < count && column < p.head_dim;
        let x_i = read_x(p.x_offset + token * p.row + head * p.head_dim + column);
        if (mode == 0u) {
            if (stored) {
                let at = p.result_offset + (token * p.heads + head) * p.head_dim + column;
                write_result(at, sums + (D + own * Delta[i]) * x_i, p.head_dim - column);
            }
        } else {
            let d_y_i = read_d_y(p.d_y_offset + (token * p.heads + head) * p.head_dim + column);
            if (mode == 1u) {
                set_share(i, lane, sums * d_y_i, live);
            } else {
                set_share(i, lane, sums * x_i, live);
                if (stored) {
                    let at = p.result_offset + token * p.row + head * p.head_dim + column;
                    write_result(at, Delta[i] * (sums + own * d_y_i) + D * d_y_i, p.head_dim - column);
                }
            }
        }
    }
    if (mode == 0u) {
        return;
    }
    store_rows(mode - 1u, tile, tiles, first, count, head, lane);
    if (mode == 2u) {
        for (var r = 0u; r < 8u; r++) {
            let i = line_of(r, lane);
            let token = first + min(i, count - 1u);
            let x_i = read_x(p.x_offset + token * p.row + head * p.head_dim + column);
            let d_y_i = read_d_y(p.d_y_offset + (token * p.heads + head) * p.head_dim + column);
            set_share(i, lane, x_i * d_y_i, live);
        }
        store_rows(2u, tile, tiles, first, count, head, lane);
    }
}
