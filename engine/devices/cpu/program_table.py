"""The table of a replayed program: a row a kernel call, which says where the operands are and how they are cut up.

    kernel, tasks, step | address, rows, columns, stride | address, rows, columns, stride | ...

An operand that is absent has address 0. Strides are in elements, addresses in bytes.
"""

from __future__ import annotations

from numba import njit

CODE, TASKS, STEP, OPERANDS = 0, 1, 2, 3
ADDRESS, ROWS, COLUMNS, STRIDE = 0, 1, 2, 3
WORDS = 4  # of an operand
ROW_WORDS = OPERANDS + 7 * WORDS
few = njit(error_model="numpy", fastmath={"contract", "nsz"})


@njit
def address(row, operand):
    """Where an operand begins; 0 where it is absent."""
    return row[OPERANDS + WORDS * operand + ADDRESS]


@njit
def rows_of(row, operand):
    """How many rows it has; one for a vector."""
    return row[OPERANDS + WORDS * operand + ROWS]


@njit
def columns_of(row, operand):
    """How many columns it has: its last axis."""
    return row[OPERANDS + WORDS * operand + COLUMNS]


@njit
def stride_of(row, operand):
    """Elements from one row to the next."""
    return row[OPERANDS + WORDS * operand + STRIDE]
