// Lines in 8 bits for lib/row, four to a word: a chunk is 16 numbers, half of those that share a scale.

alias Word = vec4i;

struct Chunk {
    first: vec4f,
    second: vec4f,
    third: vec4f,
    fourth: vec4f,
}

fn chunk_of(i: u32, row: u32) -> Chunk {
    let at = row + 4u * i;
    return Chunk(input(at), input(at + 1u), input(at + 2u), input(at + 3u));
}

fn bytes_of(word: i32) -> vec4f {
    return vec4f(vec4i(
        extractBits(word, 0u, 8u), extractBits(word, 8u, 8u), extractBits(word, 16u, 8u), extractBits(word, 24u, 8u),
    ));
}

fn weighted(words: Word, values: Chunk) -> f32 {
    return (dot(bytes_of(words.x), values.first) + dot(bytes_of(words.y), values.second))
        + (dot(bytes_of(words.z), values.third) + dot(bytes_of(words.w), values.fourth));
}
