// Lines of float16 for lib/row, two to a word: a chunk is 8 numbers.  WGSL's own unpacking is exact but for subnormals,
// which may become zero: less than 2^-14 of a weight of 1.

alias Word = vec4u;

struct Chunk {
    first: vec4f,
    second: vec4f,
}

fn chunk_of(i: u32, row: u32) -> Chunk {
    let at = row + 2u * i;
    return Chunk(input(at), input(at + 1u));
}

fn weighted(words: Word, values: Chunk) -> f32 {
    let first = vec4f(unpack2x16float(words.x), unpack2x16float(words.y));
    let second = vec4f(unpack2x16float(words.z), unpack2x16float(words.w));
    return dot(first, values.first) + dot(second, values.second);
}
