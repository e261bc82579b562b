// One row times the lines of a matrix, as in decoding, where the row may first be normed; what becomes of the sums is up
// to the shader.  A workgroup takes eight lines; its lanes share out the row in chunks of one 16-byte load of each line,
// then add up their sums in workgroup memory: eight lanes' sums at a time, then these, always in that order.
//
// The norm's factor is the same for all of the row, so it comes last: the sum of squares is added up beside the products.
//
// The shader that includes this has x and scale, reads the lines by `low_part` and `high_part`, four each, and says by
// OUTPUTS and `finish` what it makes of them.

override lanes: u32 = 64u;
override slots: u32 = 576u; // 9 * lanes
override normed: u32 = 0u;

struct Params {
    n: u32, // outputs
    chunks: u32,
    width: f32, // of the row
    epsilon: f32,
    alpha: f32,
    high_alpha: f32,
    flags: u32,
    x_at: u32, // places of vec4 are counted in these
    scale_at: u32,
    low_at: u32,
    low_row: u32,
    high_at: u32,
    high_row: u32,
    low_scales_at: u32,
    low_scales_row: u32,
    high_scales_at: u32,
    high_scales_row: u32,
    c_at: u32,
    addend_at: u32,
    bias_at: u32,
    first: u32, // of the columns that are convolved, and how many there are
    channels: u32,
    taps: u32,
    weight_at: u32,
    history_at: u32,
}

const HAS_ADDEND = 1u;
const HAS_BIAS = 2u;
const ACCUMULATE = 4u;

@group(0) @binding(0) var<uniform> p: Params;

var<private> squares: f32;
var<workgroup> partial: array<f32, slots>; // [lane][line], and the squares; nine apart: no two lanes on the same bank
var<workgroup> eighths: array<f32, lanes>; // [lane / 8][line]
var<workgroup> square_eighths: array<f32, lanes>;
var<workgroup> sums: array<f32, 8>;

fn input(at: u32) -> vec4f {
    let value = x[p.x_at + at];
    if (normed == 0u) {
        return value;
    }
    squares += dot(value, value);
    return value * scale[p.scale_at + at];
}

@compute @workgroup_size(lanes)
fn main(
    @builtin(workgroup_id) group: vec3u,
    @builtin(num_workgroups) grid: vec3u,
    @builtin(local_invocation_index) lane: u32,
) {
    let begin = flat_group(group, grid) * OUTPUTS;
    let line = begin + vec4u(0u, 1u, 2u, 3u);
    let low_line = min(line, vec4u(p.n - 1u));
    let high_line = min(line + (OUTPUTS - 4u), vec4u(p.n - 1u));
    let low_at = p.low_at + low_line * p.low_row;
    let high_at = p.high_at + high_line * p.high_row;
    let low_scale = p.low_scales_at + low_line * p.low_scales_row;
    let high_scale = p.high_scales_at + high_line * p.high_scales_row;
    var low = vec4f();
    var high = vec4f();
    for (var i = lane; i < p.chunks; i += lanes) {
        let values = chunk_of(i);
        low += vec4f(
            low_part(low_at.x, low_scale.x, i, values),
            low_part(low_at.y, low_scale.y, i, values),
            low_part(low_at.z, low_scale.z, i, values),
            low_part(low_at.w, low_scale.w, i, values),
        );
        high += vec4f(
            high_part(high_at.x, high_scale.x, i, values),
            high_part(high_at.y, high_scale.y, i, values),
            high_part(high_at.z, high_scale.z, i, values),
            high_part(high_at.w, high_scale.w, i, values),
        );
    }
    let at = lane * 9u;
    partial[at] = low.x;
    partial[at + 1u] = low.y;
    partial[at + 2u] = low.z;
    partial[at + 3u] = low.w;
    partial[at + 4u] = high.x;
    partial[at + 5u] = high.y;
    partial[at + 6u] = high.z;
    partial[at + 7u] = high.w;
    partial[at + 8u] = squares;
    workgroupBarrier();
    eighths[lane] = eight_from(lane / 8u * 72u + lane % 8u);
    if (lane < lanes / 8u) {
        square_eighths[lane] = eight_from(lane * 72u + 8u);
    }
    workgroupBarrier();
    if (lane < 8u) {
        var sum = eighths[lane];
        for (var other = lane + 8u; other < lanes; other += 8u) {
            sum += eighths[other];
        }
        if (normed != 0u) {
            var all = square_eighths[0];
            for (var other = 1u; other < lanes / 8u; other++) {
                all += square_eighths[other];
            }
            sum *= 1.0 / sqrt(all / p.width + p.epsilon);
        }
        sums[lane] = sum;
    }
    workgroupBarrier();
    if (lane < OUTPUTS && begin + lane < p.n) {
        finish(begin + lane, lane);
    }
}

fn eight_from(at: u32) -> f32 {
    return ((partial[at] + partial[at + 9u]) + (partial[at + 18u] + partial[at + 27u]))
        + ((partial[at + 36u] + partial[at + 45u]) + (partial[at + 54u] + partial[at + 63u]));
}
