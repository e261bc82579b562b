"""Entry point of a frozen Codecoil: the command line, with compiled kernels kept in the data folder.

PyInstaller runs this file in place of the `codecoil` script of an installation.
"""

from __future__ import annotations

import multiprocessing
import os
import sys

from app.command_line import main

if __name__ == "__main__":
    # A library that creates a lock between processes starts this program again for its own purposes.
    multiprocessing.freeze_support()
    os.environ.setdefault("NUMBA_CACHE_LOCATOR_CLASSES", "kernel_cache.FrozenKernels")
    sys.exit(main())
