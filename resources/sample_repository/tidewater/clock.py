"""Times as the harbour writes them: minutes, never seconds, always with the date."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from tidewater.guards import BrokenRecord

STAMP = "%Y-%m-%dT%H:%M"
SPAN = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?")


def read_stamp(text: str) -> datetime:
    """`2031-05-04T06:30`."""
    try:
        return datetime.strptime(text, STAMP)
    except ValueError as error:
        raise BrokenRecord(f"{text!r} is no time; write it as 2031-05-04T06:30") from error


def write_stamp(moment: datetime) -> str:
    return moment.strftime(STAMP)


def read_span(text: str) -> timedelta:
    """`1d6h`, `18h`, `45m`."""
    match = SPAN.fullmatch(text.strip())
    if not match or not any(match.groups()):
        raise BrokenRecord(f"{text!r} is no span of time; write it as 1d6h or 45m")
    days, hours, minutes = (int(part or 0) for part in match.groups())
    return timedelta(days=days, hours=hours, minutes=minutes)


def write_span(span: timedelta) -> str:
    minutes = int(span.total_seconds() // 60)
    days, minutes = divmod(minutes, 24 * 60)
    hours, minutes = divmod(minutes, 60)
    parts = [f"{value}{unit}" for value, unit in ((days, "d"), (hours, "h"), (minutes, "m")) if value]
    return "".join(parts) or "0m"


def overlap(begins: datetime, ends: datetime, other_begins: datetime, other_ends: datetime) -> bool:
    """Whether two spans share a minute."""
    return begins < other_ends and other_begins < ends


def to_quarter(moment: datetime) -> datetime:
    """Pilots board on the quarter of an hour, never before the time asked for."""
    over = moment.minute % 15
    return moment if not over else moment + timedelta(minutes=15 - over)
