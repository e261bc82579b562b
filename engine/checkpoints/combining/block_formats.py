"""Q8_0 and Q4_0, byte for byte as llama.cpp packs them: 32 weights of a row share one float16 scale that lies in front.

    Q8_0   34 bytes: scale d = largest / 127,                 32 × int8, halves away from zero
    Q4_0   18 bytes: scale d = largest (with its sign) / -8,  16 × two codes of 0 to 15: j low, j + 16 high

One thing is not as there: where d is too small for float16, the weights unpack to zero whatever their codes are, and
the codes are those of a block of zeros. Otherwise packing what was unpacked would give other bytes.
"""

from __future__ import annotations

import numpy as np

from engine.checkpoints.store.spans import by_rows

BLOCK = 32
Q8_0_BYTES = 2 + BLOCK
Q4_0_BYTES = 2 + BLOCK // 2


def pack_q8_0(array: np.ndarray) -> np.ndarray:
    """Bytes (rows, n / 32 * 34) of float32 (rows, n)."""
    return by_rows(_q8_0_blocks, array.reshape(-1, BLOCK))[0].reshape(len(array), -1)


def unpack_q8_0(stored: np.ndarray) -> np.ndarray:
    """float32 (rows, n)."""
    return by_rows(_from_q8_0_blocks, stored.reshape(-1, Q8_0_BYTES))[0].reshape(len(stored), -1)


def pack_q4_0(array: np.ndarray) -> np.ndarray:
    """Bytes (rows, n / 32 * 18) of float32 (rows, n)."""
    return by_rows(_q4_0_blocks, array.reshape(-1, BLOCK))[0].reshape(len(array), -1)


def unpack_q4_0(stored: np.ndarray) -> np.ndarray:
    """float32 (rows, n)."""
    return by_rows(_from_q4_0_blocks, stored.reshape(-1, Q4_0_BYTES))[0].reshape(len(stored), -1)


def _q8_0_blocks(x: np.ndarray) -> tuple[np.ndarray]:
    d = np.abs(x).max(axis=1, keepdims=True) / np.float32(127)
    half, inverse = _half_and_inverse(d)
    scaled = x * inverse
    size = np.abs(scaled)
    whole = np.floor(size)
    whole += size - whole >= np.float32(0.5)  # exact: adding 0.5 first would round 0.49999997 up
    codes = np.copysign(whole, scaled).astype(np.int8)
    return (np.concatenate([half.view(np.uint8), codes.view(np.uint8)], axis=1),)


def _from_q8_0_blocks(stored: np.ndarray) -> tuple[np.ndarray]:
    return (stored[:, 2:].view(np.int8).astype(np.float32) * _scale(stored),)


def _q4_0_blocks(x: np.ndarray) -> tuple[np.ndarray]:
    largest = np.take_along_axis(x, np.abs(x).argmax(axis=1, keepdims=True), axis=1)
    d = (largest + np.float32(0)) / np.float32(-8)  # + 0: a block of zeros has the scale -0, also if they are negative
    half, inverse = _half_and_inverse(d)
    half = np.where(half == 0, np.float16(-0.0), half)
    codes = np.minimum((x * inverse + np.float32(8.5)).astype(np.uint8), 15)
    low, high = codes[:, : BLOCK // 2], codes[:, BLOCK // 2 :]
    return (np.concatenate([half.view(np.uint8), low | (high << np.uint8(4))], axis=1),)


def _from_q4_0_blocks(stored: np.ndarray) -> tuple[np.ndarray]:
    codes = np.concatenate([stored[:, 2:] & np.uint8(15), stored[:, 2:] >> np.uint8(4)], axis=1)
    return ((codes.astype(np.float32) - np.float32(8)) * _scale(stored),)


def _half_and_inverse(d: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The scale as stored, and what weights are multiplied with: 1 / d before rounding, 0 where nothing is stored."""
    with np.errstate(over="ignore", divide="ignore"):
        half = d.astype(np.float16)
        return half, np.where(half == 0, np.float32(0), np.float32(1) / d)


def _scale(stored: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(stored[:, :2]).view(np.float16).astype(np.float32)
