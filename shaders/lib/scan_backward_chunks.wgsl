// The workspace of the chunked backward of the selective scan: (b, chunks, n+2, d), of which the first n rows hold G at
// the end of a chunk, and in the end d_A; the next one the sum of Delta, then d_D; the last one d_dt_bias.

@group(0) @binding(8) var<storage, read_write> workspace: array<f32>;

// Row `row` of a chunk's n + 2 in the workspace (b, chunks, n+2, d).
fn chunk_index(sequence: u32, chunk: u32, row: u32, channel: u32) -> u32 {
    return p.workspace_offset + ((sequence * p.chunks + chunk) * (N + 2u) + row) * p.width + channel;
}
