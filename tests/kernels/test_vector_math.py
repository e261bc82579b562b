"""The CPU's own exponentials, for scalars and for lanes, against NumPy's float64 over their whole range."""

import numpy as np
import pytest
from numba import njit

from engine.devices.cpu import vector_math
from engine.devices.cpu.simd import LANES, load, store

LIMIT = 3e-7  # relative, as vector_math promises
COUNT = 2**16

EXACT = {
    "exp": np.exp,
    "log1p": np.log1p,
    "softplus": lambda x: np.logaddexp(0, x),
    "sigmoid": lambda x: np.exp(-np.logaddexp(0, -x)),
}


def _spread_out(low: float, high: float) -> np.ndarray:
    """Evenly from low to high, and every power of two on the way down to 2^-126."""
    even = np.linspace(low, high, COUNT - 2 * 127, dtype=np.float32)
    small = 2.0 ** np.arange(-126, 1, dtype=np.float32)
    return np.concatenate([even, small, -small if low < 0 else small * 3]).astype(np.float32)


RANGES = {
    "exp": _spread_out(-87, 88),
    "log1p": np.concatenate([_spread_out(0, 10), np.logspace(-30, 38, COUNT, dtype=np.float32)]),
    "softplus": _spread_out(-86, 100),
    "sigmoid": _spread_out(-87, 87),
}


def _compiled(name: str, lanes: bool):
    """The function over an array, as kernels call it: element by element, or sixteen at a time."""
    function = getattr(vector_math, name)

    @njit
    def by_scalar(x, y):
        for i in range(x.size):
            y[i] = function(x[i])

    @njit
    def by_lanes(x, y):
        for i in range(0, x.size, LANES):
            store(y, i, function(load(x, i)))

    return by_lanes if lanes else by_scalar


@pytest.fixture(scope="module", params=[False, True], ids=["scalar", "lanes"])
def functions(request):
    return {name: _compiled(name, request.param) for name in EXACT}


@pytest.mark.parametrize("name", EXACT)
def test_relative_error(functions, name):
    x = RANGES[name]
    assert x.size % LANES == 0
    y = np.zeros_like(x)
    functions[name](x, y)
    exact = EXACT[name](x.astype(np.float64))
    normal = exact > np.finfo(np.float32).tiny
    assert normal.mean() > 0.9
    error = np.abs(y[normal] - exact[normal]) / exact[normal]
    assert error.max() <= LIMIT, f"at {x[normal][error.argmax()]}"


@pytest.mark.parametrize("name", ["exp", "softplus", "sigmoid"])
def test_nan_stays_nan(functions, name):
    y = np.zeros(LANES, np.float32)
    functions[name](np.full(LANES, np.nan, np.float32), y)
    assert np.isnan(y).all()


@pytest.mark.parametrize(
    "name, x, lowest, highest",
    [
        ("exp", -1e30, 0, 2e-38),
        ("exp", -np.inf, 0, 2e-38),
        ("exp", 1e30, 1e38, 3e38),
        ("softplus", -1e30, 0, 2e-38),
        ("softplus", 1e30, 1e30, 1e30),
        ("sigmoid", -1e30, 0, 2e-38),
        ("sigmoid", 1e30, 1, 1),
        ("log1p", 0, 0, 0),
    ],
)
def test_beyond_the_range(functions, name, x, lowest, highest):
    y = np.zeros(LANES, np.float32)
    functions[name](np.full(LANES, x, np.float32), y)
    assert (np.float32(lowest) <= y).all()
    assert (y <= np.float32(highest)).all()


def test_functions_of_lanes_keep_lanes_apart(functions):
    x = np.linspace(-8, 8, LANES, dtype=np.float32)
    for name in ("exp", "softplus", "sigmoid"):
        y = np.zeros_like(x)
        functions[name](x, y)
        assert np.allclose(y, EXACT[name](x.astype(np.float64)), rtol=LIMIT, atol=0), name
