"""What the guard raises.  Apart from it, so that a start that connects nowhere need not load the engine's errors."""

from __future__ import annotations

from engine.errors import CodecoilError


class ConnectionNotAllowed(CodecoilError):
    """Something in this process wanted to leave the machine without having been asked to by name."""
