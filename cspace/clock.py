"""The time, which everything that needs it is given."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    """Return the time, aware."""
    return datetime.now(UTC)
