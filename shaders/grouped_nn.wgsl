//! lib: grid grouped_tile grouped_rows
// c (rows, j) = alpha * a (rows, i) @ b[expert of the row] (i, j) (lib/grouped_tile.wgsl).
