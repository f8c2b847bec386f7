"""The time, which everything that needs it is given."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


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
