// The state of each head before each chunk, or, backward, its gradient behind each chunk.  A workgroup has 64 states x
// 32 channels of one head of a sequence in registers and takes them from chunk to chunk:
//
//   forward    h = (decay of the chunk) h + sum over j of B_j (decay after j) Delta_j x_j^T
//   backward   g = (decay of the chunk) g + sum over i of C_i (decay up to i) d_y_i^T  (from the last chunk on)
//
// Backward, g takes the place of the state behind its chunk, and the sum of its products with that state goes to the
// workspace at overlaps_at: (b * chunks, h, tiles), a number a workgroup.  What is needed of the states before is done.

override backward: u32 = 0u;

var<workgroup> shares: array<f32, 64>;

fn source_row(token: u32, head: u32) -> u32 {
    if (backward == 1u) {
        return p.d_y_offset + (token * p.heads + head) * p.head_dim;
    }
    return p.x_offset + token * p.row + head * p.head_dim;
}

fn read_source(at: u32) -> vec4f {
    if (backward == 1u) {
        return read_d_y(at);
    }
    return read_x(at);
}

fn weight(i: u32) -> f32 {
    if (backward == 1u) {
        return decay_up_to(i);
    }
    return decay_after(i) * Delta[i];
}

// Adds what the tokens of a chunk give: lines are states from n on, columns channels from `column` on.
fn add_chunk(chunk: u32, head: u32, n: u32, column: u32, lane: u32) {
    let first = first_token(chunk);
    let count = tokens_of(chunk);
    let group = head / (p.heads / p.groups) + backward * p.groups;  // C lies behind the B of all groups
    let left = left_place(lane, false);
    let right = right_place(lane, false);
    for (var k = 0u; k < count; k += 16u) {
        let i = first + min(vec4u(k + left.y) + vec4u(0u, 1u, 2u, 3u), vec4u(count - 1u));
        let line = n + left.x;
        put_left(left, mat4x4f(
            read_x(B_of(i.x, group) + line),
            read_x(B_of(i.y, group) + line),
            read_x(B_of(i.z, group) + line),
            read_x(B_of(i.w, group) + line),
        ));
        if (lane < 32u) {
            let token = k + right.y;
            let j = min(vec4u(token) + vec4u(0u, 1u, 2u, 3u), vec4u(count - 1u));
            let channel = column + right.x;
            put_right(right, cut(each_k(mat4x4f(
                read_source(source_row(first + j.x, head) + channel),
                read_source(source_row(first + j.y, head) + channel),
                read_source(source_row(first + j.z, head) + channel),
                read_source(source_row(first + j.w, head) + channel),
            ), vec4f(weight(j.x), weight(j.y), weight(j.z), weight(j.w))), token, count));
        }
        add_products(lane);
    }
}

// The tile into a state, which begins at `state`.
fn keep(state: u32, n: u32, column: u32, lane: u32) {
    for (var r = 0u; r < 8u; r++) {
        let line = n + line_of(r, lane);
        let sums = next_line();
        if (line < p.state_size && column < p.head_dim) {
            write_states(state + line * p.head_dim + column, sums, p.head_dim - column);
        }
        return_line(sums);
    }
}

// Sum over the tile of g times the state in whose place it comes.
fn overlap(state: u32, n: u32, column: u32, lane: u32) -> f32 {
    let live = vec4u(column) + vec4u(0u, 1u, 2u, 3u) < vec4u(p.head_dim);
    var share = 0.0;
    for (var r = 0u; r < 8u; r++) {
        let line = n + line_of(r, lane);
        let sums = next_line();
        if (line < p.state_size && column < p.head_dim) {
            let found = read_states(state + line * p.head_dim + column);
            share += dot(select(vec4f(), sums * found, live), vec4f(1.0));
        }
        return_line(sums);
    }
    shares[lane] = share;
    workgroupBarrier();
    var sum = 0.0;
    if (lane == 0u) {
        for (var i = 0u; i < 64u; i++) {
            sum += shares[i];
        }
    }
    return sum;
}

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) place: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let across = (p.head_dim + 31u) / 32u;
    let tiles = (p.state_size + 63u) / 64u * across;
    let flat = flat_group(place, grid);
    if (flat >= p.sequences * p.heads * tiles) {
        return;
    }
    let tile = flat % tiles;
    let head = flat / tiles % p.heads;
    let chunks = flat / tiles / p.heads * p.chunks;  // the first of the sequence
    let n = tile / across * 64u;
    let column = tile % across * 32u + lane % 8u * 4u;
    let start = state_before(chunks, head);
    clear_sums();
    if (backward == 0u) {
        if (p.carry != 0u) {
            for (var r = 0u; r < 8u; r++) {
                _ = next_line();
                let line = min(n + line_of(r, lane), p.state_size - 1u);
                return_line(read_states(start + line * p.head_dim + column));
            }
        } else {
            keep(start, n, column, lane);
        }
    }
    for (var c = 0u; c < p.chunks; c++) {
        let chunk = chunks + select(c, p.chunks - 1u - c, backward == 1u);
        // The state behind a chunk is in the slot before the next one, in the same sequence.
        let behind = state_before(chunk, head) + p.heads * p.state_size * p.head_dim;
        load_steps(first_token(chunk), tokens_of(chunk), head, lane);
        if (backward == 1u) {
            let sum = overlap(behind, n, column, lane);
            if (lane == 0u) {
                workspace[p.overlaps_at + (chunk * p.heads + head) * tiles + tile] = bitcast<u32>(sum);
            }
            keep(behind, n, column, lane);
        }
        workgroupBarrier();
        let fading = decay_up_to(CHUNK - 1u);
        upper *= fading;
        lower *= fading;
        add_chunk(chunk, head, n, tile % across * 32u, lane);
        if (backward == 0u) {
            keep(behind, n, column, lane);
        }
    }
}
