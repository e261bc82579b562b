// A grid of more than 65,535 workgroups is folded into rows; this is the place of a workgroup in the unfolded line.

fn flat_group(group: vec3u, grid: vec3u) -> u32 {
    return group.y * grid.x + group.x;
}
