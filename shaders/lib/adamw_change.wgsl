// What AdamW does with one parameter: its new moments and what is taken off it.  The launch puts the slots of the
// scalars in front.
//   first = b1 * first + (1 - b1) * g;  second = b2 * second + (1 - b2) * g^2
//   change = rate * (first / c1 / (sqrt(second / c2) + epsilon) + decay * parameter), within +-trust where trust > 0

struct Step {
    rate: f32,
    beta1: f32,
    beta2: f32,
    epsilon: f32,
    decay: f32,
    correction1: f32,
    correction2: f32,
    trust: f32,
}

struct Moved {
    first: f32,
    second: f32,
    change: f32,
}

fn moved(step: Step, value: f32, g: f32, first: f32, second: f32) -> Moved {
    let m = step.beta1 * first + (1.0 - step.beta1) * g;
    let v = step.beta2 * second + (1.0 - step.beta2) * g * g;
    var change = step.rate * (m / step.correction1 / (sqrt(v / step.correction2) + step.epsilon) + step.decay * value);
    if (step.trust > 0.0) {
        change = clamp(change, -step.trust, step.trust);
    }
    return Moved(m, v, change);
}
