"""The time, which everything that needs it is given."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

Clock = Callable[[], datetime]
_UNITS = {"h": "hours", "d": "days", "w": "weeks"}
_AGE = re.compile(r"(\d{1,4})([hdw])", re.ASCII)


def utc_now() -> datetime:
    """Return the time, aware."""
    return datetime.now(UTC)


def parse_time(text: str) -> datetime | None:
    """Read an ISO 8601 date or time; one without a zone is UTC."""
    try:
        time = datetime.fromisoformat(text.strip())
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def parse_age(text: str) -> timedelta | None:
    """Read `12h`, `30d` or `8w`."""
    found = _AGE.fullmatch(text)
    return timedelta(**{_UNITS[found[2]]: int(found[1])}) if found else None


def parse_since(text: str, now: datetime) -> datetime | None:
    """Read a date or time, or an age, which counts back from now."""
    age = parse_age(text.strip())
    return parse_time(text) if age is None else now - age
