//! lib: grid ssd ssd_chunk ssd_read_vec4 ssd_tile ssd_mix
// What the tokens of a chunk give each other, and the states give them (lib/ssd_mix.wgsl), where the views begin and
// advance in multiples of 4.
