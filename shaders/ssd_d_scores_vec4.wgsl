//! lib: grid ssd ssd_chunk ssd_read_vec4 ssd_tile ssd_d_scores
// The gradient of C_i B_j of each chunk (lib/ssd_d_scores.wgsl), where the views begin and advance in multiples of 4.
