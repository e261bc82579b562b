// Lines of float32 for lib/row: a chunk is 4 numbers.

alias Chunk = vec4f;

fn chunk_of(i: u32) -> Chunk {
    return input(i);
}

fn weighted(words: vec4f, values: Chunk) -> f32 {
    return dot(words, values);
}
