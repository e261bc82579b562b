"""Sixteen float32 lanes as one value inside Numba kernels, and the few operations that scalars and lanes share.

LLVM's loop vectoriser gives up on loops that touch many arrays (it cannot prove that they do not overlap), and the
scan is such a loop. So the scan says what it means: `Lanes` is LLVM's own <16 x float>, which becomes one AVX-512,
two AVX2 or four NEON registers. Arithmetic is `+ - * /` between lanes and between lanes and a scalar; products may be
fused with sums. The functions below also take a plain float32, where they become single instructions that the
vectoriser understands (NumPy's own become calls).
"""

from __future__ import annotations

import operator
from collections.abc import Callable

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, overload, register_model

LANES = 16
_FLOAT, _INT = ir.FloatType(), ir.IntType(32)
_FLOATS, _INTS = ir.VectorType(_FLOAT, LANES), ir.VectorType(_INT, LANES)
_ROOT_HALF_BITS = 0x3F3504F3


class LanesType(types.Type):
    """The Numba type of sixteen float32."""

    def __init__(self) -> None:
        super().__init__(name=f"Lanes{LANES}")


lanes_type = LanesType()


@register_model(LanesType)
class _LanesModel(models.PrimitiveModel):
    def __init__(self, manager, numba_type) -> None:
        super().__init__(manager, numba_type, _FLOATS)


def _is_lanes(value: ir.Value) -> bool:
    return isinstance(value.type, ir.VectorType)


def _whole(like: ir.Value, number: int) -> ir.Constant:
    """An int32 constant, or a vector of them, as wide as `like`."""
    return ir.Constant(_INTS, [number] * LANES) if _is_lanes(like) else ir.Constant(_INT, number)


def _spread(builder, value):
    """The scalar in every lane; lanes stay as they are."""
    if _is_lanes(value):
        return value
    undefined = ir.Constant(_FLOATS, ir.Undefined)
    one = builder.insert_element(undefined, value, ir.Constant(_INT, 0))
    return builder.shuffle_vector(one, undefined, ir.Constant(_INTS, [0] * LANES))


def _same_width(builder, args):
    """All of `args` as lanes if any is lanes, else all as scalars."""
    return [_spread(builder, arg) for arg in args] if any(map(_is_lanes, args)) else list(args)


def _elementwise(arity: int) -> Callable:
    """An intrinsic of `arity` float32 or lanes, from a function (builder, *values) -> value."""

    def decorate(generate):
        def typing(kinds):
            sides = [kind if isinstance(kind, LanesType) else types.float32 for kind in kinds]
            result = lanes_type if lanes_type in sides else types.float32
            return result(*sides), lambda context, builder, signature, args: generate(
                builder, *_same_width(builder, args)
            )

        def one(typing_context, a):
            return typing((a,))

        def three(typing_context, a, b, c):
            return typing((a, b, c))

        def four(typing_context, a, b, c, d):
            return typing((a, b, c, d))

        typer = {1: one, 3: three, 4: four}[arity]
        typer.__name__ = typer.__qualname__ = generate.__name__
        typer.__doc__ = generate.__doc__
        return intrinsic(typer)

    return decorate


@_elementwise(1)
def floor(builder, x):
    """The whole number below x."""
    width = f"v{LANES}f32" if _is_lanes(x) else "f32"
    function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(x.type, [x.type]), f"llvm.floor.{width}")
    return builder.call(function, [x])


@_elementwise(1)
def root(builder, x):
    """The square root of x."""
    width = f"v{LANES}f32" if _is_lanes(x) else "f32"
    function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(x.type, [x.type]), f"llvm.sqrt.{width}")
    return builder.call(function, [x])


@_elementwise(3)
def clamp(builder, x, low, high):
    """x held between low and high; NaN stays NaN."""
    raised = builder.select(builder.fcmp_ordered("<", x, low), low, x)
    return builder.select(builder.fcmp_ordered(">", raised, high), high, raised)


@_elementwise(4)
def where_less(builder, x, limit, if_less, if_not):
    """if_less where x < limit, else if_not (also where x is NaN)."""
    return builder.select(builder.fcmp_ordered("<", x, limit), if_less, if_not)


@_elementwise(1)
def power_of_two(builder, x):
    """2^x for whole numbers from -126 to 127."""
    exponent = builder.add(builder.fptosi(x, _INTS if _is_lanes(x) else _INT), _whole(x, 127))
    return builder.bitcast(builder.shl(exponent, _whole(x, 23)), x.type)


@_elementwise(1)
def power_of_rounded(builder, x):
    """2^k for x = ROUNDER + k, a sum whose low bits hold the whole number k (from -126 to 127)."""
    bits = builder.add(builder.bitcast(x, _INTS if _is_lanes(x) else _INT), _whole(x, 127))
    return builder.bitcast(builder.shl(bits, _whole(x, 23)), x.type)


def _bits_from_root_half(builder, x):
    """The bits of x counted from those of sqrt(1/2): the exponent then splits at sqrt(1/2) and sqrt(2)."""
    return builder.sub(builder.bitcast(x, _INTS if _is_lanes(x) else _INT), _whole(x, _ROOT_HALF_BITS))


@_elementwise(1)
def exponent_of(builder, x):
    """The e of x = 2^e * m with m in [sqrt(1/2), sqrt(2)), for x > 0."""
    return builder.sitofp(builder.ashr(_bits_from_root_half(builder, x), _whole(x, 23)), x.type)


@_elementwise(1)
def mantissa_of(builder, x):
    """The m of x = 2^e * m with m in [sqrt(1/2), sqrt(2)), for x > 0."""
    low = builder.and_(_bits_from_root_half(builder, x), _whole(x, 0x7FFFFF))
    return builder.bitcast(builder.add(low, _whole(x, _ROOT_HALF_BITS)), x.type)


@intrinsic
def spread(typing_context, scalar):
    """Lanes that all hold `scalar` (float32)."""
    return lanes_type(types.float32), lambda context, builder, signature, args: _spread(builder, args[0])


def _address(context, builder, array_type, array, index):
    data = context.make_array(array_type)(context, builder, array).data
    return builder.bitcast(builder.gep(data, [index]), _FLOATS.as_pointer())


@intrinsic
def load(typing_context, array, index):
    """Sixteen consecutive elements of a contiguous one-dimensional float32 array."""

    def generate(context, builder, signature, args):
        value = builder.load(_address(context, builder, signature.args[0], args[0], args[1]))
        value.align = 4
        return value

    return lanes_type(array, types.intp), generate


@intrinsic
def store(typing_context, array, index, value):
    """Write sixteen consecutive elements."""

    def generate(context, builder, signature, args):
        builder.store(args[2], _address(context, builder, signature.args[0], args[0], args[1])).align = 4
        return context.get_dummy_value()

    return types.void(array, types.intp, lanes_type), generate


@intrinsic
def total(typing_context, value):
    """The sum of the lanes, as a tree."""

    def generate(context, builder, signature, args):
        kind = ir.FunctionType(_FLOAT, [_FLOAT, _FLOATS])
        reduce = cgutils.get_or_insert_function(builder.module, kind, f"llvm.vector.reduce.fadd.v{LANES}f32")
        return builder.call(reduce, [ir.Constant(_FLOAT, -0.0), args[0]], fastmath=["reassoc"])

    return types.float32(lanes_type), generate


@intrinsic
def largest_of(typing_context, value):
    """The largest of the lanes; NaN is passed over."""

    def generate(context, builder, signature, args):
        kind = ir.FunctionType(_FLOAT, [_FLOATS])
        reduce = cgutils.get_or_insert_function(builder.module, kind, f"llvm.vector.reduce.fmax.v{LANES}f32")
        return builder.call(reduce, [args[0]])

    return types.float32(lanes_type), generate


def _arithmetic(symbol, instruction: str) -> None:
    """Teach Numba `symbol` between lanes, and between lanes and a float32."""

    @intrinsic
    def apply(typing_context, left, right):
        def generate(context, builder, signature, args):
            return getattr(builder, instruction)(*_same_width(builder, args), flags=["contract"])

        sides = [kind if isinstance(kind, LanesType) else types.float32 for kind in (left, right)]
        return lanes_type(*sides), generate

    @overload(symbol)
    def implement(left, right):
        if isinstance(left, LanesType) or isinstance(right, LanesType):
            return lambda left, right: apply(left, right)
        return None


_arithmetic(operator.add, "fadd")
_arithmetic(operator.sub, "fsub")
_arithmetic(operator.mul, "fmul")
_arithmetic(operator.truediv, "fdiv")
