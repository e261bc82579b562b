"""Compiling with Numba: kept on disk, and compiled again when anything in the function's package has changed.

A compiled function contains copies of the functions it calls, from whatever module. Numba only checks whether the file
of the outermost one has changed: after an update of another file it would run old code on data with a new layout, and
crash. So the stamp of a kept function covers all sources of its package.

Where nothing can be written (a read-only installation and a read-only home), functions are compiled and not kept.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from numba import config, njit
from numba.core import caching

LOG = logging.getLogger(__name__)
_reported = threading.Event()


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
    """`numba.njit`, kept on disk where that is possible."""

    def decorate(function: Callable) -> Callable:
        dispatcher = njit(**options)(function)
        try:
            dispatcher._cache = KeptFunction(function)  # as `enable_caching` does it
        except RuntimeError:  # Numba found no folder that can be written to
            report_not_kept("neither the program's folder nor the user's cache folder can be written to")
        return dispatcher

    return decorate


class KeptFunction(caching.FunctionCache):
    """A compiled function on disk.  A damaged one is compiled again, and one that cannot be written is not kept.

    Numba would raise in the middle of a computation instead.
    """

    def load_overload(self, sig, target_context):
        try:
            return super().load_overload(sig, target_context)
        except Exception as error:  # a damaged pickle may raise anything
            LOG.info("A compiled function in %s is damaged (%s): it is compiled again.", self.cache_path, error)
            self._try(self.flush)
            return None

    def save_overload(self, sig, data) -> None:
        self._try(lambda: super(KeptFunction, self).save_overload(sig, data))

    def _try(self, write: Callable[[], None]) -> None:
        try:
            write()
        except OSError as error:
            self.disable()
            report_not_kept(str(error))


def report_not_kept(why: str) -> None:
    """Log once why compiled functions are not kept."""
    if not _reported.is_set():
        _reported.set()
        LOG.warning(
            "Compiled functions cannot be kept on disk (%s). They are compiled at every start, which takes up to a"
            " minute. Set NUMBA_CACHE_DIR to a folder that can be written to.",
            why,
        )
