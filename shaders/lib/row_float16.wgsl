// Lines of float16 for lib/row, two to a word: a chunk is 8 numbers.  WGSL's own unpacking is exact but for subnormals,
// which may become zero: less than 2^-14 of a weight of 1.

struct Chunk {
    first: vec4f,
    second: vec4f,
}

fn chunk_of(i: u32) -> Chunk {
    return Chunk(input(2u * i), input(2u * i + 1u));
}

fn weighted(words: vec4u, values: Chunk) -> f32 {
    let first = vec4f(unpack2x16float(words.x), unpack2x16float(words.y));
    let second = vec4f(unpack2x16float(words.z), unpack2x16float(words.w));
    return dot(first, values.first) + dot(second, values.second);
}
