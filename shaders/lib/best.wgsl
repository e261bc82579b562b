// The best (value, index) over the lanes of a workgroup, known to every lane afterwards: the largest value, and of equal
// ones the lowest index.  The shader that includes this sets LANES and ROOT, as for lib/reduce.wgsl.

struct Best {
    value: f32,
    index: u32,
}

const NOTHING = Best(-3.4028234e38, 0xffffffffu);

var<workgroup> lane_best: array<Best, LANES>;
var<workgroup> root_best: array<Best, ROOT>;

fn better(a: Best, b: Best) -> Best {
    if (a.value > b.value || (a.value == b.value && a.index < b.index)) {
        return a;
    }
    return b;
}

fn best_over_lanes(own: Best, lane: u32) -> Best {
    lane_best[lane] = own;
    workgroupBarrier();
    if (lane < ROOT) {
        var part = lane_best[lane];
        for (var k = 1u; k < ROOT; k++) { // neighbours read neighbours: no two of them the same bank
            part = better(part, lane_best[k * ROOT + lane]);
        }
        root_best[lane] = part;
    }
    workgroupBarrier();
    var best = root_best[0];
    for (var k = 1u; k < ROOT; k++) {
        best = better(best, root_best[k]);
    }
    return best;
}
