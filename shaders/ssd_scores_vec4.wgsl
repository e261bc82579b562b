//! lib: grid ssd ssd_read_vec4 ssd_tile ssd_scores
// C_i B_j of each chunk (lib/ssd_scores.wgsl), where the views begin and advance in multiples of 4.
