//! lib: grid ssd ssd_chunk ssd_read_scalar ssd_tile ssd_d_projections
// d_C or d_B (lib/ssd_d_projections.wgsl), for any views.
