"""Codecoil's application: the command line and the desktop.

What computes is in `engine`; nothing here does arithmetic on a model.
"""

VERSION = "0.1.0"  # the same as in pyproject.toml; a test holds the two together
