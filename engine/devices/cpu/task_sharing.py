"""How threads share out the tasks of a replayed program: by counting, without sleeping.

A phase has a word `claims` (run number in the upper half, tasks taken in the lower) and a word `finished` (tasks done,
over all runs). Any thread takes the next task; so a late thread finds less to do, one that never arrives is not
missed, and a thread with the number of an earlier run finds nothing.
"""

from __future__ import annotations

import platform
import sys

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

SPINS = 2000  # looks at a counter, some tens of microseconds, before the rest of the time slice is given away
STALE = -2  # a later run has begun
NONE_LEFT = -1
_WORD = ir.IntType(64)
_PAUSES = {"x86_64": ("llvm.x86.sse2.pause", ()), "amd64": ("llvm.x86.sse2.pause", ())}
_PAUSES |= dict.fromkeys(("aarch64", "arm64"), ("llvm.aarch64.hint", (1,)))


def _pointer(builder, address):
    return builder.inttoptr(address, _WORD.as_pointer())


@intrinsic
def load_word(typing_context, address):
    """The word at an address; everything its writer wrote before it is then visible, too."""

    def generate(context, builder, signature, args):
        return builder.load_atomic(_pointer(builder, args[0]), "acquire", 8)

    return types.int64(types.int64), generate


@intrinsic
def add_to_word(typing_context, address, number):
    """Add to the word at an address, after everything this thread has written before."""

    def generate(context, builder, signature, args):
        return builder.atomic_rmw("add", _pointer(builder, args[0]), args[1], "acq_rel")

    return types.int64(types.int64, types.int64), generate


@intrinsic
def swap_word(typing_context, address, expected, new):
    """Replace `expected` by `new`; whether it was `expected`."""

    def generate(context, builder, signature, args):
        pair = builder.cmpxchg(_pointer(builder, args[0]), args[1], args[2], "acq_rel", "acquire")
        return builder.extract_value(pair, 1)

    return types.boolean(types.int64, types.int64, types.int64), generate


@intrinsic
def pause(typing_context):
    """Tell the core that this is a waiting loop."""

    def generate(context, builder, signature, args):
        name, numbers = _PAUSES.get(platform.machine().lower(), (None, ()))
        if name is not None:
            kind = ir.FunctionType(ir.VoidType(), [ir.IntType(32)] * len(numbers))
            function = cgutils.get_or_insert_function(builder.module, kind, name)
            builder.call(function, [ir.Constant(ir.IntType(32), number) for number in numbers])
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def give_way(typing_context):
    """Yield the core to another thread that waits for it."""

    def generate(context, builder, signature, args):
        name = "SwitchToThread" if sys.platform == "win32" else "sched_yield"
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(ir.IntType(32), []), name)
        builder.call(function, [])
        return context.get_dummy_value()

    return types.void(), generate


@njit
def claim(claims, run, tasks):
    """The number of the next task of this phase, or NONE_LEFT, or STALE."""
    while True:
        word = load_word(claims)
        begun = word >> 32
        if begun > run:
            return STALE
        taken = word & 0xFFFFFFFF if begun == run else 0
        if taken >= tasks:
            return NONE_LEFT
        if swap_word(claims, word, (run << 32) | (taken + 1)):
            return taken


@njit
def wait_for(finished, count):
    """Wait until at least `count` tasks of the phase are done; whether that took longer than any task does.

    Then the thread that had the last task has lost its core, and this one makes room for it.
    """
    spins = 0
    while load_word(finished) < count:
        spins += 1
        if spins < SPINS:
            pause()
        else:
            give_way()
    return spins >= SPINS
