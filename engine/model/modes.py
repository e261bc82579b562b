"""The names of the training modes, without NumPy: the command line's `--help` lists them.  `selection` says what each
one trains.
"""

from __future__ import annotations

FEW_PARAMETER_MODES = ("wsla", "qk")  # rows that say what is remembered: B and C of a state space, q and k of attention
ADAPTER_MODES = ("lora", "vocabulary")  # these train low-rank pairs
MODES = ("full", *FEW_PARAMETER_MODES, *ADAPTER_MODES)
