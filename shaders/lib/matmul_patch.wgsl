// A patch is 4 x 4 numbers of an operand, what one lane carries from storage to workgroup memory: column q holds four
// neighbouring lines (i of a, j of b) at k + q.  Numbers past the last k are zero in both operands, so that rubbish
// times zero cannot become NaN; lines past the last one hold rubbish, whose sums are never stored.

override a_along_k: u32 = 1u; // 1: neighbours in memory are neighbours in k (nt, nn); 0: neighbours in i (tn)
override b_along_k: u32 = 1u; // 1: neighbours in k (nt); 0: neighbours in j (nn, tn)

fn cut_at_last_k(values: mat4x4f, k: u32) -> mat4x4f {
    let none = vec4f();
    return mat4x4f(
        select(none, values[0], k < p.k),
        select(none, values[1], k + 1u < p.k),
        select(none, values[2], k + 2u < p.k),
        select(none, values[3], k + 3u < p.k),
    );
}

// Lines or steps first .. first+3, the last one again for those past it: an address never leaves its operand by more
// than a vec4.
fn four(first: u32, count: u32) -> vec4u {
    return min(vec4u(first, first + 1u, first + 2u, first + 3u), vec4u(count - 1u));
}

fn patch_of_a(i: u32, k: u32) -> mat4x4f {
    if (a_along_k == 1u) {
        let at = p.a_offset + four(i, p.m) * p.a_row + k;
        return cut_at_last_k(transpose(mat4x4f(read_a(at.x), read_a(at.y), read_a(at.z), read_a(at.w))), k);
    }
    let at = p.a_offset + four(k, p.k) * p.a_step + i;
    return cut_at_last_k(mat4x4f(read_a(at.x), read_a(at.y), read_a(at.z), read_a(at.w)), k);
}

fn patch_of_b(j: u32, k: u32) -> mat4x4f {
    if (b_along_k == 1u) {
        let at = p.b_offset + four(j, p.n) * p.b_row + k;
        return cut_at_last_k(transpose(mat4x4f(read_b(at.x), read_b(at.y), read_b(at.z), read_b(at.w))), k);
    }
    let at = p.b_offset + four(k, p.k) * p.b_step + j;
    return cut_at_last_k(mat4x4f(read_b(at.x), read_b(at.y), read_b(at.z), read_b(at.w)), k);
}

// Which patch a lane carries, as (line, k) in patches: neighbouring lanes go along memory, so that their reads fall
// together.
fn patch_place(slot: u32, along_k: u32, lines: u32, steps: u32) -> vec2u {
    if (along_k == 1u) {
        return vec2u(slot / steps, slot % steps);
    }
    return vec2u(slot % lines, slot / lines);
}
