"""float16 read by address: by the processor's own instruction, and by bits where there is none."""

import numpy as np
import pytest
from numba import njit, types

from engine.devices.cpu import memory
from engine.devices.cpu.simd import LANES, lanes_type

CONVERSIONS = [memory.float16_by_bits] + [memory.float16_by_itself] * memory.has_float16()


@pytest.mark.parametrize("convert", CONVERSIONS)
def test_every_finite_float16(convert):
    lanes_of = memory.reader("lanes_of", memory._SHORTS, 2, lanes_type, convert)
    one_of = memory.reader("one_of", memory._SHORTS.element, 2, types.float32, convert)

    @njit
    def widen(source, target, count):
        for i in range(0, count - LANES, LANES):
            memory.put_lanes(target + 4 * i, lanes_of(source + 2 * i))
        for i in range(count - LANES, count):
            memory.put_float(target + 4 * i, one_of(source + 2 * i))

    halves = np.arange(2**16, dtype=np.uint16).view(np.float16)
    halves = halves[np.isfinite(halves)]
    found = np.zeros(halves.size, np.float32)
    widen(halves.ctypes.data, found.ctypes.data, halves.size)
    assert found.tobytes() == halves.astype(np.float32).tobytes()  # also the sign of zero
