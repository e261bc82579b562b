// A few rows, at most ROWS (1, 2 or 4), times the lines of a matrix, as in decoding; a single row may first be normed.
// What becomes of the sums is up to the shader.  A workgroup takes eight lines; its lanes share out the rows in chunks of
// one 16-byte load of each line, then add up their sums in workgroup memory: eight lanes' sums at a time, then these,
// always in that order.
//
// The norm's factor is the same for all of the row, so it comes last: the sum of squares is added up beside the products.
//
// The shader that includes this has x and scale, reads words of the lines by `low_word` and `high_word`, four lines each,
// and their scales by `low_factor` and `high_factor`, and says by OUTPUTS and `finish` what it makes of the sums.

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
    rows: u32,
    x_at: u32, // of vec4, as are the places and distances of the lines
    x_row: u32,
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
    c_row: u32,
    addend_at: u32,
    addend_row: u32,
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

struct Values { // of each row, in a chunk
    first: Chunk,
    second: Chunk,
    third: Chunk,
    fourth: Chunk,
}

fn values_of(i: u32) -> Values {
    var values = Values();
    values.first = chunk_of(i, p.x_at);
    // Without the branches, which are the same for all lanes, rows that are not there would be read.
    if (ROWS > 1u && p.rows > 1u) {
        values.second = chunk_of(i, p.x_at + p.x_row);
    }
    if (ROWS > 2u && p.rows > 2u) {
        values.third = chunk_of(i, p.x_at + 2u * p.x_row);
    }
    if (ROWS > 2u && p.rows > 3u) {
        values.fourth = chunk_of(i, p.x_at + 3u * p.x_row);
    }
    return values;
}

// The products of a word of a line with each row.
fn products(word: Word, values: Values) -> vec4f {
    var found = vec4f(weighted(word, values.first), 0.0, 0.0, 0.0);
    if (ROWS > 1u) {
        found.y = weighted(word, values.second);
    }
    if (ROWS > 2u) {
        found.z = weighted(word, values.third);
        found.w = weighted(word, values.fourth);
    }
    return found;
}

fn input(at: u32) -> vec4f {
    let value = x[at];
    if (normed == 0u) {
        return value;
    }
    squares += dot(value, value);
    return value * scale[p.scale_at + at - p.x_at];
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
    var sum0 = vec4f(); // of a line with each row
    var sum1 = vec4f();
    var sum2 = vec4f();
    var sum3 = vec4f();
    var sum4 = vec4f();
    var sum5 = vec4f();
    var sum6 = vec4f();
    var sum7 = vec4f();
    for (var i = lane; i < p.chunks; i += lanes) {
        let values = values_of(i);
        sum0 += low_factor(low_scale.x, i) * products(low_word(low_at.x + i), values);
        sum1 += low_factor(low_scale.y, i) * products(low_word(low_at.y + i), values);
        sum2 += low_factor(low_scale.z, i) * products(low_word(low_at.z + i), values);
        sum3 += low_factor(low_scale.w, i) * products(low_word(low_at.w + i), values);
        sum4 += high_factor(high_scale.x, i) * products(high_word(high_at.x + i), values);
        sum5 += high_factor(high_scale.y, i) * products(high_word(high_at.y + i), values);
        sum6 += high_factor(high_scale.z, i) * products(high_word(high_at.z + i), values);
        sum7 += high_factor(high_scale.w, i) * products(high_word(high_at.w + i), values);
    }
    for (var row = 0u; row < select(p.rows, 1u, ROWS == 1u); row++) {
        let at = lane * 9u;
        partial[at] = sum0.x;
        partial[at + 1u] = sum1.x;
        partial[at + 2u] = sum2.x;
        partial[at + 3u] = sum3.x;
        partial[at + 4u] = sum4.x;
        partial[at + 5u] = sum5.x;
        partial[at + 6u] = sum6.x;
        partial[at + 7u] = sum7.x;
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
            finish(row, begin + lane, lane);
        }
        if (ROWS > 1u) {
            sum0 = sum0.yzwx;
            sum1 = sum1.yzwx;
            sum2 = sum2.yzwx;
            sum3 = sum3.yzwx;
            sum4 = sum4.yzwx;
            sum5 = sum5.yzwx;
            sum6 = sum6.yzwx;
            sum7 = sum7.yzwx;
        }
    }
}

fn eight_from(at: u32) -> f32 {
    return ((partial[at] + partial[at + 9u]) + (partial[at + 18u] + partial[at + 27u]))
        + ((partial[at + 36u] + partial[at + 45u]) + (partial[at + 54u] + partial[at + 63u]));
}
