"""The names of the training modes, without NumPy: the command line's `--help` lists them.  `selection` says what each
one trains.
"""

from __future__ import annotations

MODES = ("full", "wsla", "lora", "vocabulary")
ADAPTER_MODES = ("lora", "vocabulary")  # these train low-rank pairs
