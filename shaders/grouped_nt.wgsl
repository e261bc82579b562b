//! lib: grid grouped_tile grouped_rows
// c (rows, j) = a (rows, i) @ b[expert of the row] (j, i)^T (lib/grouped_tile.wgsl).
