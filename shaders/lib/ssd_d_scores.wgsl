// The gradient of the scores S_ij = C_i B_j of each chunk and group, summed over the group's heads:
//
//   d_S_ij = sum over the heads of L_ij Delta_j d_y_i x_j        i >= j, L_ij the decay after token j up to i
//
// at d_scores_at in the workspace: (score_parts, chunks of all sequences, g, 64, 64), each part a sum over some of the
// heads, zero above the diagonal and past the last token.
//
// A workgroup has 32 x 32 of one part, chunk and group, 4 x 4 a lane, over steps of 16 channels in workgroup memory: not
// the product of ssd_tile, since beside the sums of one head there are those of all of them, and both have to fit into
// the registers of a GPU that has 128 a lane.  One of the four squares of a chunk lies above the diagonal and is only
// cleared.

const SQUARE = 32u;

var<workgroup> square_tile: array<vec4f, 256>;  // [d_y, x][channel][token / 4]
var<private> of_head: mat4x4f;  // column r: the sums of one head at line r of the lane's four

// Puts a patch, as in ssd_tile, of d_y (lanes 0 .. 31) or of x (the others).
fn put_patch(lane: u32, place: vec2u, values: mat4x4f) {
    let at = lane / 32u * 128u + place.y * 8u + place.x / 4u;
    square_tile[at] = values[0];
    square_tile[at + 8u] = values[1];
    square_tile[at + 16u] = values[2];
    square_tile[at + 24u] = values[3];
}

// Adds the products of the tile.  To be called by all lanes, after the patches are put.
fn add_square_products(lane: u32) {
    workgroupBarrier();
    for (var k = 0u; k < 16u; k += 4u) {
        let a = k * 8u + lane / 8u;
        let b = 128u + k * 8u + lane % 8u;
        of_head += outer(square_tile[a], square_tile[b]);
        of_head += outer(square_tile[a + 8u], square_tile[b + 8u]);
        of_head += outer(square_tile[a + 16u], square_tile[b + 16u]);
        of_head += outer(square_tile[a + 24u], square_tile[b + 24u]);
    }
    workgroupBarrier();
}

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) place: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let flat = flat_group(place, grid);
    if (flat >= p.sequences * p.chunks * p.groups * p.score_parts * 4u) {
        return;
    }
    let first_line = flat / 2u % 2u * SQUARE;
    let first_column = flat % 2u * SQUARE;
    let group = flat / 4u % p.groups;
    let chunks = p.sequences * p.chunks;
    let chunk = flat / 4u / p.groups % chunks;
    let part = flat / 4u / p.groups / chunks;
    let share = p.heads / p.groups;
    let first_head = group * share + part * share / p.score_parts;
    let last_head = group * share + (part + 1u) * share / p.score_parts;
    let first = first_token(chunk);
    let count = tokens_of(chunk);
    let patch_place = right_place(lane % 32u, true);
    let first_of_patch = select(first_column, first_line, lane < 32u) + patch_place.x;
    let tokens = first + min(vec4u(first_of_patch) + vec4u(0u, 1u, 2u, 3u), vec4u(count - 1u));
    let rows = select(p.x_offset + tokens * p.row, p.d_y_offset + tokens * p.heads * p.head_dim, vec4<bool>(lane < 32u));
    let line = first_line + lane / 8u * 4u;
    let column = first_column + lane % 8u * 4u;
    let is_zero = first_line < first_column || first_line >= count;
    var sums = mat4x4f();
    for (var head = first_head; head < select(last_head, first_head, is_zero); head++) {
        load_steps(first, count, head, lane);
        of_head = mat4x4f();
        for (var k = 0u; k < p.head_dim; k += 16u) {
            let channel = k + patch_place.y;
            let at = rows + head * p.head_dim + channel;
            var patch_rows = mat4x4f();
            if (lane < 32u) {
                patch_rows = mat4x4f(read_d_y(at.x), read_d_y(at.y), read_d_y(at.z), read_d_y(at.w));
            } else {
                patch_rows = mat4x4f(read_x(at.x), read_x(at.y), read_x(at.z), read_x(at.w));
            }
            put_patch(lane, patch_place, cut(transpose(patch_rows), channel, p.head_dim));
            add_square_products(lane);
        }
        let steps_of_columns = vec4f(Delta[column], Delta[column + 1u], Delta[column + 2u], Delta[column + 3u]);
        sums += mat4x4f(
            of_head[0] * steps_of_columns * decays_of(line, column, count),
            of_head[1] * steps_of_columns * decays_of(line + 1u, column, count),
            of_head[2] * steps_of_columns * decays_of(line + 2u, column, count),
            of_head[3] * steps_of_columns * decays_of(line + 3u, column, count),
        );
        workgroupBarrier();
    }
    let scores = p.d_scores_at + ((part * chunks + chunk) * p.groups + group) * CHUNK * CHUNK;
    write_line(scores + line * CHUNK + column, sums[0]);
    write_line(scores + (line + 1u) * CHUNK + column, sums[1]);
    write_line(scores + (line + 2u) * CHUNK + column, sums[2]);
    write_line(scores + (line + 3u) * CHUNK + column, sums[3]);
}

fn write_line(at: u32, sums: vec4f) {
    workspace[at] = bitcast<u32>(sums.x);
    workspace[at + 1u] = bitcast<u32>(sums.y);
    workspace[at + 2u] = bitcast<u32>(sums.z);
    workspace[at + 3u] = bitcast<u32>(sums.w);
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
