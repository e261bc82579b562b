//! lib: grid ssd ssd_chunk ssd_read_scalar ssd_tile ssd_d_scores
// The gradient of C_i B_j of each chunk (lib/ssd_d_scores.wgsl), for any views.
