"""Numbers by address, for kernels that are told at run time where their operands are.

A replayed program (see `replay`) is a table of addresses, so its kernels have no NumPy arrays to index. Addresses and
distances are in bytes.
"""

from __future__ import annotations

import platform
from collections.abc import Callable

import llvmlite.binding
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from engine.devices.cpu.simd import LANES, lanes_type

_FLOATS = ir.VectorType(ir.FloatType(), LANES)
_SHORTS = ir.VectorType(ir.IntType(16), LANES)
_BYTES = ir.VectorType(ir.IntType(8), LANES)
_INTS = ir.VectorType(ir.IntType(32), LANES)


def has_float16() -> bool:
    """Whether this processor can read float16; otherwise LLVM would call a function for each number."""
    return platform.machine().lower() in ("arm64", "aarch64") or bool(
        llvmlite.binding.get_host_cpu_features().get("f16c")
    )


def float16_by_itself(builder: ir.IRBuilder, bits: ir.Value) -> ir.Value:
    """float32 from the bits of float16, by the processor's own instruction."""
    lanes = isinstance(bits.type, ir.VectorType)
    half = ir.VectorType(ir.HalfType(), LANES) if lanes else ir.HalfType()
    return builder.fpext(builder.bitcast(bits, half), _FLOATS if lanes else ir.FloatType())


def float16_by_bits(builder: ir.IRBuilder, bits: ir.Value) -> ir.Value:
    """The same for finite numbers: exponent and mantissa moved to their places, times 2^112 for the other bias."""
    lanes = isinstance(bits.type, ir.VectorType)
    wide, float_type = (_INTS, _FLOATS) if lanes else (ir.IntType(32), ir.FloatType())

    def constant(kind: ir.Type, number: float) -> ir.Constant:
        return ir.Constant(kind, [number] * LANES) if lanes else ir.Constant(kind, number)

    bits = builder.zext(bits, wide)
    size = builder.shl(builder.and_(bits, constant(wide, 0x7FFF)), constant(wide, 13))
    scaled = builder.fmul(builder.bitcast(size, float_type), constant(float_type, 2.0**112))
    sign = builder.shl(builder.and_(bits, constant(wide, 0x8000)), constant(wide, 16))
    return builder.bitcast(builder.or_(builder.bitcast(scaled, wide), sign), float_type)


_from_float16 = float16_by_itself if has_float16() else float16_by_bits


def reader(name: str, stored: ir.Type, align: int, result: types.Type, convert: Callable | None = None) -> Callable:
    """An intrinsic `name(address)` that loads a value of type `stored`."""

    def typer(typing_context, address):
        def generate(context, builder, signature, args):
            value = builder.load(builder.inttoptr(args[0], stored.as_pointer()))
            value.align = align
            return convert(builder, value) if convert else value

        return result(types.int64), generate

    typer.__name__ = typer.__qualname__ = name
    return intrinsic(typer)


def _writer(
    name: str, stored: ir.Type, align: int, value_type: types.Type, convert: Callable | None = None
) -> Callable:
    """An intrinsic `name(address, value)` that stores a value of type `stored`."""

    def typer(typing_context, address, value):
        def generate(context, builder, signature, args):
            value = convert(builder, args[1]) if convert else args[1]
            builder.store(value, builder.inttoptr(args[0], stored.as_pointer())).align = align
            return context.get_dummy_value()

        return types.void(types.int64, value_type), generate

    typer.__name__ = typer.__qualname__ = name
    return intrinsic(typer)


float_at = reader("float_at", ir.FloatType(), 4, types.float32)
put_float = _writer("put_float", ir.FloatType(), 4, types.float32)
int_at = reader("int_at", ir.IntType(32), 4, types.int32)
put_int = _writer("put_int", ir.IntType(32), 4, types.int32)
put_short = _writer("put_short", ir.IntType(16), 2, types.uint16)
lanes_at = reader("lanes_at", _FLOATS, 4, lanes_type)
put_lanes = _writer("put_lanes", _FLOATS, 4, lanes_type)


def _float16_lanes(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """The bits of sixteen float32 as float16, to the nearest, ties to even; only where `has_float16`."""
    return builder.bitcast(builder.fptrunc(value, ir.VectorType(ir.HalfType(), LANES)), _SHORTS)


put_half_lanes = _writer("put_half_lanes", _SHORTS, 2, lanes_type, _float16_lanes)
# Sixteen float16, or sixteen bytes with a sign, as float32
half_lanes_at = reader("half_lanes_at", _SHORTS, 2, lanes_type, _from_float16)
byte_lanes_at = reader("byte_lanes_at", _BYTES, 1, lanes_type, lambda b, value: b.sitofp(b.sext(value, _INTS), _FLOATS))
half_at = reader("half_at", ir.IntType(16), 2, types.float32, _from_float16)
byte_at = reader(
    "byte_at", ir.IntType(8), 1, types.float32, lambda b, v: b.sitofp(b.sext(v, ir.IntType(32)), ir.FloatType())
)
