// Lines of float32 for lib/row: a chunk is 4 numbers.

alias Word = vec4f;
alias Chunk = vec4f;

fn chunk_of(i: u32, row: u32) -> Chunk {
    return input(row + i);
}

fn weighted(words: Word, values: Chunk) -> f32 {
    return dot(words, values);
}
