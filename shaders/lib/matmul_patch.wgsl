// A patch is 4 x 4 numbers of an operand, what one lane carries from storage to workgroup memory: column q holds four
// neighbouring lines (i of a, j of b) at k + q.  Numbers past the last k are zero in both operands, so that rubbish
// times zero cannot become NaN; lines past the last one hold rubbish, whose sums are never stored.
//
// Lanes 0..31 carry a, lanes 32..63 b.  Where a lane reads is found once and moves on by the same distance from tile to
// tile.  No read leaves its operand by more than a vec4.

override a_along_k: u32 = 1u; // 1: neighbours in memory are neighbours in k (nt, nn); 0: neighbours in i (tn)
override b_along_k: u32 = 1u; // 1: neighbours in k (nt); 0: neighbours in j (nn, tn)

struct Patch {
    at: vec4u, // of its four reads
    step: u32, // from one k to the next
    k: u32,
    along_k: u32,
    place: vec2u, // in the tile, as (line, k) in patches
}

fn patch_of(lane: u32, i: u32, j: u32, k: u32) -> Patch {
    if (lane < 32u) {
        return patch_at(lane, a_along_k, p.a_offset, p.a_row, p.a_step, i, p.m, k);
    }
    return patch_at(lane - 32u, b_along_k, p.b_offset, p.b_row, p.b_step, j, p.n, k);
}

// Neighbouring lanes go along memory, so that their reads fall together.
fn patch_at(slot: u32, along_k: u32, offset: u32, row: u32, step: u32, first: u32, lines: u32, k: u32) -> Patch {
    let four = vec4u(0u, 1u, 2u, 3u);
    if (along_k == 1u) {
        let place = vec2u(slot / (STEPS / 4u), slot % (STEPS / 4u));
        let line = min(vec4u(first + place.x * 4u) + four, vec4u(lines - 1u));
        return Patch(offset + line * row + k + place.y * 4u, step, k + place.y * 4u, along_k, place);
    }
    let place = vec2u(slot % QUADS, slot / QUADS);
    let line = min(first + place.x * 4u, (lines - 1u) / 4u * 4u);
    return Patch(offset + (k + place.y * 4u + four) * step + line, step, k + place.y * 4u, along_k, place);
}

fn read4(lane: u32, at: vec4u) -> mat4x4f {
    if (lane < 32u) {
        return mat4x4f(read_a(at.x), read_a(at.y), read_a(at.z), read_a(at.w));
    }
    return mat4x4f(read_b(at.x), read_b(at.y), read_b(at.z), read_b(at.w));
}

fn lines_first(values: mat4x4f, along_k: u32) -> mat4x4f {
    if (along_k == 1u) {
        return transpose(values);
    }
    return values;
}

// The numbers of a patch, which then moves on to the next tile; `whole`: all of the tile lies before the last k.
fn next_patch(carried: ptr<function, Patch>, lane: u32, end: u32, whole: bool) -> mat4x4f {
    let along_k = select(b_along_k, a_along_k, lane < 32u);
    let at = (*carried).at;
    let k = (*carried).k;
    (*carried).at += STEPS * (*carried).step;
    (*carried).k += STEPS;
    if (whole) {
        return lines_first(read4(lane, at), along_k);
    }
    let steps = vec4u(k, k + 1u, k + 2u, k + 3u);
    let past = max(steps, vec4u(end - 1u)) - (end - 1u);
    // Back to the last k, or by whole quads to before it.
    let back = select(past * (*carried).step, vec4u((past.x + 3u) / 4u * 4u), along_k == 1u);
    let values = lines_first(read4(lane, at - back), along_k);
    let none = vec4f();
    return mat4x4f(
        select(none, values[0], steps.x < end),
        select(none, values[1], steps.y < end),
        select(none, values[2], steps.z < end),
        select(none, values[3], steps.w < end),
    );
}
