"""The products of a mixture's experts by NumPy's BLAS: each expert's rows, no more, with its own matrix.

What the cores share is pieces, each with an output of its own: an expert, and of one with far more rows than others a
part of its columns. Cuts, and who gets which piece, depend on how many rows an expert has, never on timing.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from engine.devices.cpu.products import SMALL, Products, cuts


class GroupedProducts:
    """The three layouts, on the threads of `products`."""

    def __init__(self, products: Products) -> None:
        self._products = products

    def grouped_nt(self, a, b, starts, c) -> None:
        """c (rows, j) from a (rows, i) and b (e*j, i)."""
        self._by_rows(a, _stacked(b, starts).transpose(0, 2, 1), starts, c, 1.0)

    def grouped_nn(self, a, b, starts, c, alpha) -> None:
        """c (rows, j) from a (rows, i) and b (e*i, j)."""
        self._by_rows(a, _stacked(b, starts), starts, c, alpha)

    def grouped_tn(self, a, b, starts, c, alpha, accumulate) -> None:
        """c (e*i, j) from a (rows, i) and b (rows, j)."""
        groups = zip(_ranges(starts), _stacked(c, starts), strict=True)
        self._multiply_all([(a[own].T, b[own], out, alpha, accumulate) for own, out in groups])

    def _by_rows(self, a, b, starts, c, alpha) -> None:
        groups = enumerate(_ranges(starts))
        self._multiply_all(
            [(a[own], b[expert], c[own], alpha, False) for expert, own in groups if own.start < own.stop]
        )

    def _multiply_all(self, products: list[tuple]) -> None:
        works = [a.shape[0] * a.shape[1] * b.shape[1] for a, b, *_ in products]
        if sum(works) < SMALL:
            for product in products:
                _multiply(*product)
            return
        threads = self._products.threads
        most = max(SMALL, sum(works) // (2 * threads))  # of a piece: larger ones could not be shared out evenly
        pieces = []
        for work, (a, b, c, *numbers) in zip(works, products, strict=True):
            ranges = cuts(b.shape[1], max(1, min(threads, -(-work // most))))
            pieces += [
                (work // len(ranges), (a, b[:, first:last], c[:, first:last], *numbers)) for first, last in ranges
            ]
        pieces.sort(key=lambda piece: -piece[0])
        self._products.share(_multiply, [piece for _, piece in _there_and_back(pieces, threads)])


def _there_and_back(pieces: list, threads: int) -> list:
    """Pieces in falling order, for threads that take every n-th: each has its turn first as often as last."""
    rounds = [pieces[start : start + threads] for start in range(0, len(pieces), threads)]
    return [piece for number, each in enumerate(rounds) for piece in (each[::-1] if number % 2 else each)]


def _stacked(matrix, starts):
    """The matrices of the experts (e, rows, columns), which lie below each other."""
    return matrix.reshape(starts.size - 1, -1, matrix.shape[1])


def _ranges(starts) -> list[slice]:
    return [slice(int(first), int(last)) for first, last in pairwise(starts)]


def _multiply(a, b, c, alpha, accumulate) -> None:
    with np.errstate(all="ignore"):
        product = np.matmul(a, b) if accumulate else np.matmul(a, b, out=c)
        if alpha != 1.0:
            product *= np.float32(alpha)
        if accumulate:
            c += product
