//! lib: grid ssd ssd_chunk ssd_read_scalar ssd_tile ssd_mix
// What the tokens of a chunk give each other, and the states give them (lib/ssd_mix.wgsl), for any views.
