// A patch is 4 x 4 numbers of an operand, what a lane carries from storage to workgroup memory: column q holds four
// neighbouring lines (i of a, j of b) at k + q.  Numbers past the last k are zero in both operands, so that rubbish
// times zero cannot become NaN; lines past the last one hold rubbish, whose sums are never stored.
//
// A tile has 64 patches of either operand, one for each lane.  No read leaves its operand by more than a vec4.

override a_along_k: u32 = 1u; // 1: neighbours in memory are neighbours in k (nt, nn); 0: neighbours in i (tn)
override b_along_k: u32 = 1u; // 1: neighbours in k (nt); 0: neighbours in j (nn, tn)

struct Patch {
    at: vec4u, // of its four lines at k 0; of the first one alone, where memory goes along the lines
    line: u32, // in the tile, in patches
    k: u32, // in the tile
}

// Neighbouring lanes go along memory, so that their reads fall together.
fn patch_at(lane: u32, along_k: u32, offset: u32, row: u32, first: u32, lines: u32) -> Patch {
    if (along_k == 1u) {
        let place = vec2u(lane / (STEPS / 4u), lane % (STEPS / 4u));
        let line = min(vec4u(first + place.x * 4u) + vec4u(0u, 1u, 2u, 3u), vec4u(lines - 1u));
        return Patch(offset + line * row, place.x, place.y * 4u);
    }
    let place = vec2u(lane % QUADS, lane / QUADS);
    return Patch(vec4u(offset + min(first + place.x * 4u, (lines - 1u) / 4u * 4u)), place.x, place.y * 4u);
}

// Where the four reads of a patch at k are; of numbers past the last k, somewhere before it.
fn places(carried: Patch, along_k: u32, step: u32, k: u32, end: u32) -> vec4u {
    if (along_k == 1u) {
        return carried.at + min(k, (end - 1u) / 4u * 4u);
    }
    return carried.at + min(vec4u(k) + vec4u(0u, 1u, 2u, 3u), vec4u(end - 1u)) * step;
}

// A patch as it was read, with lines in its columns and zeros from `end` on.
fn whole_patch(read: mat4x4f, along_k: u32, k: u32, end: u32) -> mat4x4f {
    var values = read;
    if (along_k == 1u) {
        values = transpose(read);
    }
    if (k + 4u <= end) {
        return values;
    }
    let none = vec4f();
    return mat4x4f(
        select(none, values[0], k < end),
        select(none, values[1], k + 1u < end),
        select(none, values[2], k + 2u < end),
        none,
    );
}
