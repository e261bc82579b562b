// A block of ROWS queries of one head, taken by a workgroup of LANES: SHARE lanes have a query together.  Goes with reach.

const LANES = 64u;
const SHARE = LANES / ROWS;

var<workgroup> block_span: vec2u;

// The keys from the first to the last that any query of the block sees.  To be called by all lanes.
fn keys_seen_from(block: u32, lane: u32) -> vec2u {
    if (lane == 0u) {
        var span = vec2u(0xffffffffu, 0u);
        for (var row = 0u; row < min(ROWS, p.tokens - block); row++) {
            let seen = keys_seen_by(block + row);
            span = vec2u(min(span.x, seen.x), max(span.y, seen.y));
        }
        block_span = span;
    }
    return workgroupUniformLoad(&block_span);
}
