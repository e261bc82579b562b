"""How the CPU kernels are compiled: by Numba, on all cores, without the GIL, cached on disk.

`nogil` is essential: a kernel that held the GIL would freeze the window for as long as it runs. `reassoc` lets sums
become vector sums; NaN and infinity keep their meaning, so that a failing run is noticed.
"""

from __future__ import annotations

import os

from engine.compiling import compiled

# Idle threads sleep: by default they spin between two kernels, and take the cores from the matrix products and from
# other programs.
# Read when Numba starts its threads, at the first parallel kernel.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

kernel = compiled(parallel=True, nogil=True, error_model="numpy", fastmath={"contract", "reassoc", "nsz"})
