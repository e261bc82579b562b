// Moves the private state h of a lane from and to `states`.  Uses h of scan_lane and state_index of the shader that
// includes it.

fn read_state(sequence: u32, slot: u32, channel: u32) {
    for (var n = 0u; n < N; n++) {
        h[n / 4u][n % 4u] = states[state_index(sequence, slot, n, channel)];
    }
}

fn write_state(sequence: u32, slot: u32, channel: u32) {
    for (var n = 0u; n < N; n++) {
        states[state_index(sequence, slot, n, channel)] = h[n / 4u][n % 4u];
    }
}
