"""Exceptions as the window shows them."""

from __future__ import annotations

import traceback

from app.events import Failure


class Cancelled(Exception):
    """Raised out of a report of progress to end a job early."""


def failure_from(error: BaseException, device: str = "") -> Failure:
    """The engine's own errors keep their words; anything else is a defect and says so."""
    from engine.errors import CodecoilError

    details = "".join(traceback.format_exception(error))
    if isinstance(error, CodecoilError):
        return Failure(error.message, error.remedy, details, device)
    if isinstance(error, MemoryError):
        return Failure("There is not enough memory.", "Close other programs, or lower the memory ceiling.", details)
    return Failure(
        f"Codecoil met an error it does not know: {type(error).__name__}: {error}",
        "This is a defect in Codecoil.  Copy the details into a report; until it is mended, try another device.",
        details,
        device,
    )
