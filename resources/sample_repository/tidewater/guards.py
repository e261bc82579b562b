"""Guard clauses that every record and every ledger begins with."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

CALL_SIGN = re.compile(r"[A-Z][A-Z0-9]{2,7}")


class BrokenRecord(ValueError):
    """A record that cannot be true."""


def require(condition: bool, words: str) -> None:
    """Says in words what must hold."""
    if not condition:
        raise BrokenRecord(words)


def require_name(name: str, what: str) -> str:
    """A name that somebody can read aloud over the radio."""
    trimmed = " ".join(name.split())
    require(bool(trimmed), f"{what} needs a name")
    require(len(trimmed) <= 40, f"the name of {what} is longer than 40 letters")
    return trimmed


def require_positive(value: float, what: str) -> float:
    """Lengths, depths and fees are never zero."""
    require(value > 0, f"{what} must be more than zero, not {value:g}")
    return float(value)


def require_call_sign(sign: str) -> str:
    """Call signs are upper case and short."""
    upper = sign.strip().upper()
    require(CALL_SIGN.fullmatch(upper) is not None, f"{sign!r} is no call sign")
    return upper


def require_order(begins: datetime, ends: datetime, what: str) -> None:
    """Nothing ends before it begins."""
    require(begins < ends, f"{what} ends before it begins")


def require_within(span: timedelta, most: timedelta, what: str) -> None:
    """Nothing lasts longer than the harbour allows."""
    require(span <= most, f"{what} lasts longer than {most}")
