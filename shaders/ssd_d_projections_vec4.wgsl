//! lib: grid ssd ssd_chunk ssd_read_vec4 ssd_tile ssd_d_projections
// d_C or d_B (lib/ssd_d_projections.wgsl), where the views begin and advance in multiples of 4.
