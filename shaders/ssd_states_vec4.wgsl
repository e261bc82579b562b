//! lib: grid ssd ssd_chunk ssd_read_vec4 ssd_tile ssd_states
// The states before each chunk, or their gradients (lib/ssd_states.wgsl), where the views begin and advance in
// multiples of 4.
