"""Exceptions as the window shows them, and as the log keeps them."""

from __future__ import annotations

import errno
import logging
import traceback

from app.values.events import Failure

AGAIN = "Try again. If that does not help, copy the details into a report."
SYSTEM = {  # what to do, by error number
    errno.ENOSPC: "Free some disk space, or move the data folder in Settings; then try again.",
    errno.EACCES: "Give Codecoil permission to read and write there, or choose another folder.",
    errno.EPERM: "Give Codecoil permission to read and write there, or choose another folder.",
    errno.EROFS: "The disk is read-only. Move the data folder in Settings to another disk.",
    errno.EMFILE: "Too many files are open. Close other programs and try again.",
    errno.ENFILE: "Too many files are open. Close other programs and try again.",
}

log = logging.getLogger(__name__)


class Cancelled(Exception):
    """Raised to end a job early."""


def failure_from(error: BaseException, device: str = "") -> Failure:
    """An exception that a worker has caught, written to the log as well."""
    log.error("A job failed", exc_info=error)
    return failure_of(error, device)


def failure_of(error: BaseException, device: str = "") -> Failure:
    """The engine's errors and the system's keep their messages; anything else is reported as a bug."""
    from engine.errors import CodecoilError

    details = "".join(traceback.format_exception(error))
    if isinstance(error, CodecoilError):
        return Failure(error.message, error.remedy, details, device)
    if isinstance(error, MemoryError):
        return Failure("There is not enough memory.", "Close other programs, or lower the memory ceiling.", details)
    if isinstance(error, OSError) and error.strerror:
        where = f" ({error.filename})" if error.filename else ""
        return Failure(f"System error: {error.strerror}{where}.", SYSTEM.get(error.errno, AGAIN), details, device)
    return Failure(
        f"Unexpected error: {type(error).__name__}: {error}",
        "This is a bug in Codecoil. Please report it with the details. Until it is fixed, another device may work.",
        details,
        device,
    )
