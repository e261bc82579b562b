"""Kernels of one token that follow one another, made one: a step on the recorded program, for a device that wants it.

    norm ─▶ product ─▶ convolution     norm ─▶ gate, up ─▶ SwiGLU     norm ─▶ product
    delta ─▶ scan ─▶ gate              Mamba-2's scan ─▶ gate         rotations of q and k ─▶ cache

A block is written once and knows nothing of it. What lies between two of the calls must be used by nobody else and be
read by nobody afterwards; it then never exists.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace

from engine.graph.fused_kernels import (
    FORMATS,
    FUSED,
    KEPT_KEYS,
    NORM_GATED,
    NORM_MATMUL,
    NORM_MATMUL_CONV,
    SCAN_GATED,
    SSD_GATED,
    parts,
)
from engine.graph.kernels import KERNELS
from engine.graph.tensor import KernelCall, Program, Tensor, View

PRODUCT = "matmul_nt"
SCALES = 5  # the place of a product's scales, where it has any
Takes = Callable[[KernelCall], bool]  # whether a device has a kernel for such operands


def fused(program: Program, takes: Takes) -> Program:
    """The same with fewer calls; the program itself where none can be made one."""
    work = _Work(program, takes)
    work.scans()
    work.dual_scans()
    work.kept_keys()
    work.norms()
    work.convolutions()
    return replace(program, calls=work.left()) if work.changed else program


def unfused(program: Program, takes: Takes) -> Program:
    """The same without the fused calls that a device does not take; the program itself where it takes all."""
    if all(takes(call) for call in program.calls if call.kernel in FUSED):
        return program
    calls: list[KernelCall] = []
    for call in program.calls:
        calls += parts(call) if call.kernel in FUSED and not takes(call) else [call]
    return replace(program, calls=calls)


class _Work:
    """The calls of a program by number: None where one has become part of another."""

    def __init__(self, program: Program, takes: Takes) -> None:
        self._calls: list[KernelCall | None] = list(program.calls)
        self._takes = takes
        self._kept = {*program.outputs.values(), *program.inputs.values()}
        self._users: dict[Tensor, set[int]] = defaultdict(set)
        for number, call in enumerate(program.calls):
            self._note(number, call)
        self.changed = False

    def left(self) -> list[KernelCall]:
        return [call for call in self._calls if call is not None]

    # ---- what can be made one

    def scans(self) -> None:
        for number, scan in self._each("selective_scan_tokens"):
            u, delta, x_dbl, coefficients, state, y = scan.operands
            product, gate = self._at(number - 1, PRODUCT), self._at(number + 1, "gate")
            if u.shape[0] != 1 or product is None or gate is None or not _is_plain(product):
                continue
            low_rank, weight, its_delta, *_ = product.operands
            its_y, z, g = gate.operands
            call = KernelCall(SCAN_GATED, (u, x_dbl, weight, coefficients, state, z, g), {"rank": scan.numbers["rank"]})
            if (
                (its_delta.tensor, its_y.tensor) == (delta.tensor, y.tensor)
                and (low_rank.tensor, low_rank.offset) == (x_dbl.tensor, x_dbl.offset)
                and self._is_only_for(delta, {number - 1, number})
                and self._is_only_for(y, {number, number + 1})
                and self._takes(call)
            ):
                self._replace(call, (number - 1, number, number + 1))

    def dual_scans(self) -> None:
        for number, scan in self._each("ssd_tokens"):
            *operands, y = scan.operands
            gate = self._at(number + 1, "gate")
            if y.shape[0] != 1 or gate is None or gate.operands[0].tensor is not y.tensor:
                continue
            call = KernelCall(SSD_GATED, (*operands, *gate.operands[1:]), scan.numbers)
            if self._is_only_for(y, {number, number + 1}) and self._takes(call):
                self._replace(call, (number, number + 1))

    def kept_keys(self) -> None:
        """Rotations of q and k, then k and v to the cache."""
        for number, turn in self._each("rope"):
            others = [self._at(number + i, kernel) for i, kernel in enumerate(("rope", *["cache_append"] * 2), start=1)]
            q, reach, rotations = turn.operands
            if None in others or q.shape[0] != 1:
                continue
            (k, *_), (its_k, _, keys), (v, _, values) = (call.operands for call in others)
            call = KernelCall(
                KEPT_KEYS, (q, k, v, reach, rotations, keys, values), {"head_dim": turn.numbers["head_dim"]}
            )
            places = {(view.tensor, view.offset) for view in (reach, *(each.operands[1] for each in others))}
            same = others[0].numbers == turn.numbers and others[0].operands[2].tensor is rotations.tensor
            same = same and (k.tensor, k.offset) == (its_k.tensor, its_k.offset)
            if same and len(places) == 1 and turn.numbers["sign"] == 1 and self._takes(call):
                self._replace(call, tuple(range(number, number + 4)))

    def norms(self) -> None:
        """A norm is done by whatever multiplies it, each for itself: it is but a row."""
        for number, norm in self._each("rmsnorm"):
            x, scale, normed, inverse_rms = norm.operands
            users = sorted(self._users[normed.tensor] - {number})
            if (
                x.shape[0] != 1
                or scale.size != x.size
                or not users
                or not self._is_only_for(normed, {number, *users})
                or not self._is_only_for(inverse_rms, {number})
                or self._is_written((x.tensor, scale.tensor), number + 1, users[-1])
            ):
                continue
            gated = self._gated(norm, users)
            fused = [gated] if gated else [self._normed_product(norm, user) for user in users]
            if all(fused):
                self._calls[number] = None
                for call, numbers in fused:
                    self._replace(call, numbers)

    def _gated(self, norm: KernelCall, users: list[int]) -> tuple[KernelCall, tuple[int, ...]] | None:
        """Gate and up, by one product or two, and the SwiGLU of both."""
        x, scale, normed, _ = norm.operands
        swiglu, products = self._at(users[-1] + 1, "swiglu"), [self._calls[user] for user in users]
        if swiglu is None or users[-1] - users[0] >= 2 or not all(_is_bare(call, normed) for call in products):
            return None
        both, g = swiglu.operands
        f, end = g.shape[1], _end(products[0])
        written = [call.operands[2] for call in products]
        places = [(c.tensor, c.offset - both.offset, c.shape[1]) for c in written]
        if places not in ([(both.tensor, 0, 2 * f)], [(both.tensor, 0, f), (both.tensor, f, f)]):
            return None
        if not self._is_only_for(both, {*users, users[-1] + 1}) or _end(products[-1]) != end:
            return None
        gate, up = products[0], products[-1]
        firsts = (0, f if len(products) == 1 else 0)
        matrices = [_lines(call.operands[1], first, f) for call, first in zip((gate, up), firsts, strict=True)]
        scales = [
            _lines(view, first, f)
            for call, first in zip((gate, up), firsts, strict=True)
            for view in call.operands[SCALES:]
        ]
        numbers = {**norm.numbers, "gate_alpha": gate.numbers["alpha"], "up_alpha": up.numbers["alpha"]}
        call = KernelCall(NORM_GATED + end, (x, scale, *matrices, g, *scales), numbers)
        return (call, (*users, users[-1] + 1)) if self._takes(call) else None

    def _normed_product(self, norm: KernelCall, user: int) -> tuple[KernelCall, tuple[int, ...]] | None:
        x, scale, normed, _ = norm.operands
        product = self._calls[user]
        if not _multiplies(product, normed):
            return None
        _, *operands = product.operands
        numbers = {**norm.numbers, "alpha": product.numbers["alpha"]}
        call = KernelCall(NORM_MATMUL + _end(product), (x, scale, *operands), numbers)
        return (call, (user,)) if self._takes(call) else None

    def convolutions(self) -> None:
        for number, conv in self._each("causal_conv_silu_tokens"):
            columns, weight, bias, history, u = conv.operands
            product = self._at(number - 1, NORM_MATMUL)
            if product is None or columns.shape[0] != 1:
                continue
            x, scale, b, c, addend, its_bias, *scales = product.operands
            numbers = {**product.numbers, "first": columns.offset - c.offset}
            operands = (x, scale, b, c, weight, bias, history, *scales)
            call = KernelCall(NORM_MATMUL_CONV + _end(product), operands, numbers)
            if (
                c.tensor is columns.tensor
                and addend is None
                and its_bias is None
                and self._is_temporary(u)
                and self._is_only_for(c, self._users[c.tensor])
                and not any(_meet(view, columns) for view in self._others(c.tensor, {number - 1, number}))
                and self._takes(call)
            ):
                self._replace(call, (number - 1, number))
                self._redirect(u.tensor, columns)

    # ---- inside

    def _note(self, number: int, call: KernelCall) -> None:
        for view in _views(call):
            self._users[view.tensor].add(number)

    def _each(self, kernel: str) -> Iterator[tuple[int, KernelCall]]:
        for number, call in enumerate(self._calls):
            if call is not None and call.kernel == kernel:
                yield number, call

    def _at(self, number: int, kernel: str) -> KernelCall | None:
        """The call of that number, if it is of that kernel in any format."""
        call = self._calls[number] if 0 <= number < len(self._calls) else None
        return call if call is not None and call.kernel.startswith(kernel) else None

    def _is_temporary(self, view: View) -> bool:
        return view.tensor.slab is None and view.tensor not in self._kept

    def _is_only_for(self, view: View, numbers: set[int]) -> bool:
        """Whether nobody but these calls has anything to do with its tensor."""
        return self._is_temporary(view) and self._users[view.tensor] <= numbers

    def _is_written(self, tensors: tuple[Tensor, ...], start: int, stop: int) -> bool:
        return any(
            view is not None and spec.writes and view.tensor in tensors
            for call in self._calls[start:stop]
            if call is not None
            for view, spec in zip(call.operands, KERNELS[call.kernel].operands, strict=True)
        )

    def _others(self, tensor: Tensor, numbers: set[int]) -> list[View]:
        """What other calls than these see of a tensor."""
        calls = (self._calls[number] for number in self._users[tensor] - numbers)
        return [view for call in calls for view in _views(call) if view.tensor is tensor]

    def _replace(self, call: KernelCall, numbers: tuple[int, ...]) -> None:
        """Put `call` in the place of the last of these."""
        for number in numbers:
            self._forget(number)
        self._calls[numbers[-1]] = call
        self._note(numbers[-1], call)
        self.changed = True

    def _forget(self, number: int) -> None:
        for view in _views(self._calls[number]):
            self._users[view.tensor].discard(number)
        self._calls[number] = None

    def _redirect(self, tensor: Tensor, columns: View) -> None:
        """Whoever reads `tensor`, a row, finds it in `columns`."""
        for number in sorted(self._users[tensor]):
            call = self._calls[number]
            operands = tuple(
                View(columns.tensor, columns.offset + view.offset, view.shape, view.stride)
                if view is not None and view.tensor is tensor
                else view
                for view in call.operands
            )
            self._replace(replace(call, operands=operands), (number,))


def _views(call: KernelCall) -> Iterator[View]:
    return (view for view in call.operands if view is not None)


def _end(product: KernelCall) -> str:
    """Of the names of kernels for a matrix of the same format."""
    return next(end for end in reversed(FORMATS) if product.kernel.endswith(end))


def _multiplies(call: KernelCall, row: View) -> bool:
    if not call.kernel.startswith(PRODUCT) or call.numbers["accumulate"]:
        return False
    a = call.operands[0]
    return (a.tensor, a.offset, a.shape) == (row.tensor, row.offset, row.shape)


def _is_bare(call: KernelCall, row: View) -> bool:
    return _multiplies(call, row) and call.operands[3] is None and call.operands[4] is None


def _is_plain(call: KernelCall) -> bool:
    return call.kernel == PRODUCT and _is_bare(call, call.operands[0]) and call.numbers["alpha"] == 1.0


def _lines(view: View, first: int, count: int) -> View:
    return View(view.tensor, view.offset + first * view.stride, (count, view.shape[1]), view.stride)


def _meet(one: View, other: View) -> bool:
    """Whether two rows of a tensor have elements in common."""
    return one.offset < other.offset + other.size and other.offset < one.offset + one.size
