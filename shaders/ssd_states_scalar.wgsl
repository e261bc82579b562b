//! lib: grid ssd ssd_chunk ssd_read_scalar ssd_tile ssd_states
// The states before each chunk, or their gradients (lib/ssd_states.wgsl), for any views.
