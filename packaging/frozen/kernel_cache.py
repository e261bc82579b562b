"""Where a frozen program keeps its compiled kernels: in the data folder, under the name of their module.

Numba's own locations do not work.  Frozen code has no file but a relative path, which Numba would look up in whatever
folder the program was started from.  Each folder would get kernels of its own; and one that happens to contain such a
file (a clone of this project) would be written to, and what is there would be loaded.
"""

from __future__ import annotations

import functools
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from numba.core.caching import UserWideCacheLocator

from app.data.data_folder import data_folder

FOLDER = "kernels"


class FrozenKernels(UserWideCacheLocator):
    """Like Numba's own, which checks the executable's contents to tell whether a kernel is still valid."""

    def __init__(self, py_func: Callable, py_file: str) -> None:
        super().__init__(py_func, py_file)
        self._cache_path = os.path.join(kernel_folder(), py_func.__module__)

    @classmethod
    def from_function(cls, py_func: Callable, py_file: str) -> FrozenKernels:
        """Never None: `kernel_folder` is always writable."""
        locator = cls(py_func, py_file)
        locator.ensure_cache_path()
        return locator


@functools.cache
def kernel_folder() -> str:
    """`kernels` in the data folder; if that is not writable, a temporary folder for this process."""
    folder = Path(data_folder(), FOLDER)
    try:
        folder.mkdir(exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        return _temporary().name
    return str(folder)


@functools.cache
def _temporary() -> tempfile.TemporaryDirectory:
    return tempfile.TemporaryDirectory(prefix="codecoil-kernels-")
