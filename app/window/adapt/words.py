"""Times and changes of a run as text."""

from __future__ import annotations

import math
import time

from app.values.words import about, counted


def about_minutes(minutes: float) -> str:
    """The estimated time of a plan, such as "about 3 min"; "" where there is no estimate."""
    return f"about {about(minutes * 60)}" if minutes > 0 else ""


def clock(seconds: float) -> str:
    """0:42, 12:05, 1:20:00."""
    if not math.isfinite(seconds) or seconds < 0:
        return "–"
    hours, rest = divmod(round(seconds), 3600)
    minutes, last = divmod(rest, 60)
    return f"{hours}:{minutes:02d}:{last:02d}" if hours else f"{minutes}:{last:02d}"


def ago(when: float, now: float | None = None) -> str:
    """How long ago `when` (seconds since 1970) was: 3 hours ago."""
    seconds = max(0.0, (time.time() if now is None else now) - when)
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            return f"{counted(int(seconds // size), unit)} ago"
    return "just now"


def change(before: float | None, after: float | None) -> str:
    """−21 %, +0.4 %: relative to before; "" where one of them is missing."""
    if before is None or after is None or not before or not math.isfinite(before) or not math.isfinite(after):
        return ""
    share = (after - before) / before
    if round(share, 3) == 0:
        return "no change"
    return f"{share * 100:+.{0 if abs(share) >= 0.1 else 1}f} %".replace("-", "−")
