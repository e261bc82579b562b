"""How answers are written: compact JSON on one line, and server-sent events.

llama.vim looks for `"content":"` without a blank and reads line by line, so no other JSON will do.
"""

from __future__ import annotations

import json
from typing import Any

from engine.generate.service.asking import Answer

DONE = b"data: [DONE]\n\n"


def compact(content: dict[str, Any]) -> bytes:
    """On one line, in plain ASCII: whatever the client takes the bytes for."""
    return json.dumps(content, separators=(",", ":")).encode("ascii")


def event(content: dict[str, Any]) -> bytes:
    return b"data: " + compact(content) + b"\n\n"


def about(answer: Answer) -> dict[str, Any]:
    """What no protocol has a field for; clients that do not know it ignore it."""
    done = answer.completion
    return {
        "why": answer.why_empty,
        "replaces": answer.replaces,
        "chance": None if answer.chance is None else round(answer.chance, 4),
        "path": answer.path,
        "sources": [{"path": place.path, "line": place.line} for place in answer.sources],
        "more_sources": done.more_sources if done is not None else 0,
        "alternatives": list(done.alternatives) if done is not None else [],
        "model": answer.model,
        "waited_ms": round(answer.waited_ms, 1),
        "total_ms": round(answer.total_ms, 1),
    }
