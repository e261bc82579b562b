//! lib: grid ssd ssd_read_scalar ssd_tile ssd_scores
// C_i B_j of each chunk (lib/ssd_scores.wgsl), for any views.
