"""What the guard raises.  A file of its own, so that starting the program need not load the engine's errors."""

from __future__ import annotations

from engine.errors import CodecoilError


class ConnectionNotAllowed(CodecoilError):
    """Something in this process tried to connect beyond this machine without permission."""
