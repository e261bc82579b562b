// The activations, written so that no argument overflows and small results keep their digits.

fn sigmoid(x: f32) -> f32 {
    let e = exp(-abs(x));
    return select(e, 1.0, x >= 0.0) / (1.0 + e);
}

fn silu(x: f32) -> f32 {
    return x * sigmoid(x);
}

fn silu_derivative(x: f32) -> f32 {
    let s = sigmoid(x);
    return s * (1.0 + x * (1.0 - s));
}

// log(1 + exp(x)) = max(x, 0) + log1p(e) with e = exp(-|x|) in (0, 1].  WGSL's log is exact only to 2^-21 near 1 and
// there is no log1p, so: log1p(e) = 2 artanh(s), s = e / (2 + e) <= 1/3, whose series needs eight terms for float32, at
// any size of e.
fn softplus(x: f32) -> f32 {
    let e = exp(-abs(x));
    let s = e / (2.0 + e);
    let w = s * s;
    var series = 1.0 / 13.0 + w * (1.0 / 15.0);
    series = 1.0 / 11.0 + w * series;
    series = 1.0 / 9.0 + w * series;
    series = 1.0 / 7.0 + w * series;
    series = 1.0 / 5.0 + w * series;
    series = 1.0 / 3.0 + w * series;
    return max(x, 0.0) + 2.0 * s * (1.0 + w * series);
}
