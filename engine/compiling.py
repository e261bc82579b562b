"""Compiling with Numba, kept on disk, and thrown away when anything in the function's package has changed.

A compiled function holds copies of the functions that it calls, from whatever module. Numba asks only whether the file
of the outermost one is still the same: after an update of another file it would run the old code, on data that is laid
out anew, and that is a crash. So the stamp of a kept function is made from all sources of its package.
"""

from __future__ import annotations

import functools
import hashlib
import sys
from collections.abc import Callable
from pathlib import Path

from numba import config, njit
from numba.core import caching


class _StampOfThePackage:
    """Over a locator of Numba's."""

    def get_source_stamp(self) -> bytes:
        if getattr(sys, "frozen", False):  # no sources: by the executable, which holds all of them
            return super().get_source_stamp()
        return package_stamp(Path(self._py_file).parent)


class GivenFolder(_StampOfThePackage, caching.UserProvidedCacheLocator):
    """The folder that NUMBA_CACHE_DIR names."""


class BesideTheSource(_StampOfThePackage, caching.InTreeCacheLocator):
    """`__pycache__`, where it can be written to."""


class UserWide(_StampOfThePackage, caching.UserWideCacheLocator):
    """The user's cache folder."""


if not config.CACHE_LOCATOR_CLASSES:  # unless the program was packed with a place of its own
    config.CACHE_LOCATOR_CLASSES = ",".join(
        f"{__name__}.{kind.__name__}" for kind in (GivenFolder, BesideTheSource, UserWide)
    )


@functools.cache
def package_stamp(folder: Path) -> bytes:
    """A hash over the sources of a package, as they were when it was first asked for."""
    whole = hashlib.sha256()
    for path in sorted(folder.glob("*.py")):
        whole.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    return whole.digest()


def compiled(**options) -> Callable[[Callable], Callable]:
    """`numba.njit`, kept on disk."""
    return njit(cache=True, **options)
