// What becomes of the sums of lib/row: c = alpha * sum, and in the columns from p.first on that, convolved over time:
// silu(bias + sum over t of weight[:, t] * history[t], the last tap on the sum itself).  History then moves on.  Each
// channel has one lane, so nobody else reads what it writes.

const OUTPUTS = 8u;

fn finish(row: u32, j: u32, slot: u32) {
    let value = p.alpha * sums[slot];
    if (j < p.first || j >= p.first + p.channels) {
        c[p.c_at + j] = value;
        return;
    }
    let channel = j - p.first;
    let weight_at = p.weight_at + channel * p.taps;
    let before = p.taps - 1u;
    var sum = weight[weight_at + before] * value;
    for (var t = 0u; t < before; t++) {
        let at = p.history_at + t * p.channels + channel;
        sum += weight[weight_at + t] * history[at];
        if (t + 1u < before) {
            history[at] = history[at + p.channels];
        } else {
            history[at] = value;
        }
    }
    if ((p.flags & HAS_BIAS) != 0u) {
        sum += bias[p.bias_at + channel];
    }
    c[p.c_at + j] = silu(sum);
}
