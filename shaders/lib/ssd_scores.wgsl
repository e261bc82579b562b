// scores (64, 64) of each chunk and group: C_i B_j, the sum over the states.  A workgroup has 32 of the columns j; what
// lies above the diagonal or past the last token is of no use and never read.

@compute @workgroup_size(64)
fn main(
    @builtin(workgroup_id) place: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let flat = flat_group(place, grid);
    if (flat >= p.sequences * p.chunks * p.groups * 2u) {
        return;
    }
    let first_column = flat % 2u * 32u;
    let group = flat / 2u % p.groups;
    let chunk = flat / 2u / p.groups;
    let first = first_token(chunk);
    let last = tokens_of(chunk) - 1u;
    let left = left_place(lane, true);
    let right = right_place(lane, true);
    let i = min(vec4u(left.x) + vec4u(0u, 1u, 2u, 3u), vec4u(last));
    let j = min(vec4u(first_column + right.x) + vec4u(0u, 1u, 2u, 3u), vec4u(last));
    clear_sums();
    for (var k = 0u; k < p.state_size; k += 16u) {
        let n = k + left.y;
        put_left(left, cut(transpose(mat4x4f(
            read_x(C_of(first + i.x, group) + n),
            read_x(C_of(first + i.y, group) + n),
            read_x(C_of(first + i.z, group) + n),
            read_x(C_of(first + i.w, group) + n),
        )), n, p.state_size));
        if (lane < 32u) {
            let m = k + right.y;
            put_right(right, cut(transpose(mat4x4f(
                read_x(B_of(first + j.x, group) + m),
                read_x(B_of(first + j.y, group) + m),
                read_x(B_of(first + j.z, group) + m),
                read_x(B_of(first + j.w, group) + m),
            )), m, p.state_size));
        }
        add_products(lane);
    }
    let scores = p.scores_at + (chunk * p.groups + group) * CHUNK * CHUNK + first_column + lane % 8u * 4u;
    for (var r = 0u; r < 8u; r++) {
        let at = scores + line_of(r, lane) * CHUNK;
        let sums = next_line();
        workspace[at] = bitcast<u32>(sums.x);
        workspace[at + 1u] = bitcast<u32>(sums.y);
        workspace[at + 2u] = bitcast<u32>(sums.z);
        workspace[at + 3u] = bitcast<u32>(sums.w);
    }
}
