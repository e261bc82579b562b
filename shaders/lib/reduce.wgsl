// Sum and maximum over the lanes of a workgroup, known to every lane afterwards, always in the same order.
// The shader that includes this sets LANES (its workgroup size) and ROOT (its square root): ROOT lanes add ROOT values
// each, side by side, so that no two read from the same bank; then every lane adds their ROOT sums.  Two barriers instead of the six or eight of a tree.

var<workgroup> lane_values: array<f32, LANES>;
var<workgroup> root_values: array<f32, ROOT>;

// Two calls may follow each other: lane_values is last read before the second barrier, root_values before the next
// call's first.
fn sum_over_lanes(value: f32, lane: u32) -> f32 {
    lane_values[lane] = value;
    workgroupBarrier();
    if (lane < ROOT) {
        var part = 0.0;
        for (var k = 0u; k < ROOT; k++) {
            part += lane_values[k * ROOT + lane];
        }
        root_values[lane] = part;
    }
    workgroupBarrier();
    var sum = 0.0;
    for (var k = 0u; k < ROOT; k++) {
        sum += root_values[k];
    }
    return sum;
}

fn max_over_lanes(value: f32, lane: u32) -> f32 {
    lane_values[lane] = value;
    workgroupBarrier();
    if (lane < ROOT) {
        var part = lane_values[lane];
        for (var k = 1u; k < ROOT; k++) {
            part = max(part, lane_values[k * ROOT + lane]);
        }
        root_values[lane] = part;
    }
    workgroupBarrier();
    var largest = root_values[0];
    for (var k = 1u; k < ROOT; k++) {
        largest = max(largest, root_values[k]);
    }
    return largest;
}
