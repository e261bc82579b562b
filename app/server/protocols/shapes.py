"""How answers are written: compact JSON on one line, and server-sent events.

llama.vim looks for `"content":"` without a blank and reads line by line, so no other JSON will do.
"""

from __future__ import annotations

import json
from typing import Any

DONE = b"data: [DONE]\n\n"


def compact(content: dict[str, Any]) -> bytes:
    """On one line, in plain ASCII: whatever the client takes the bytes for."""
    return json.dumps(content, separators=(",", ":")).encode("ascii")


def event(content: dict[str, Any]) -> bytes:
    return b"data: " + compact(content) + b"\n\n"
