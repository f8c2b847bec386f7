"""Progress as data: the core reports, an adapter displays."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """Where a phase stands."""

    STARTED = "started"
    OUTPUT = "output"
    ADVANCED = "advanced"
    DONE = "done"
    FAILED = "failed"
    NOTICE = "notice"


@dataclass(frozen=True, slots=True)
class Event:
    """One step of one subject's progress.

    Attributes:
        subject: whose progress it is, an instance's name as a rule.
        phase: what is being done: image, workspace, start …
        detail: one line for a person; may be empty.
        seconds: how long the phase took, once it is done.
        done: how much of total is done, when a phase has advanced.
        total: None where nobody knows how much there is to do.
    """

    subject: str
    phase: str
    state: State
    detail: str = ""
    seconds: float | None = None
    done: int = 0
    total: int | None = None


Report = Callable[[Event], None]


@contextlib.contextmanager
def phase(report: Report, subject: str, name: str, detail: str = "") -> Iterator[None]:
    """Report a phase's start and its end, with the seconds between."""
    started = time.monotonic()
    report(Event(subject, name, State.STARTED, detail))
    try:
        yield
    except BaseException:
        report(Event(subject, name, State.FAILED, detail, time.monotonic() - started))
        raise
    report(Event(subject, name, State.DONE, detail, time.monotonic() - started))


def ignore(_event: Event) -> None:
    """Report to nobody."""
