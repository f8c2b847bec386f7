"""Does one thing for several instances at once; the failure of one does not stop the others."""

from __future__ import annotations

import contextlib
import os
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from cspace.errors import CspaceError, expected

Result = TypeVar("Result")
# Each waits for the engine, for its container and for the proxy more than it computes.
EACH_PROCESSOR = 4
MOST = 16
# What a start or a stop takes on a busy machine; what takes longer, the next call takes up.
GRACE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Outcome(Generic[Result]):
    """What came of one name: a result, or an error; one that is not ours is a bug."""

    name: str
    result: Result | None
    error: Exception | None


def at_once() -> int:
    """Return how many are worked on at a time on this machine."""
    return min(EACH_PROCESSOR * (os.cpu_count() or 1), MOST)


def run_batch(
    names: Sequence[str],
    act: Callable[[str], Result],
    *,
    on_outcome: Callable[[Outcome[Result]], object] = lambda _: None,
    on_interrupt: Callable[[], object] = lambda: None,
) -> tuple[Outcome[Result], ...]:
    """Act on every name, `at_once` of them at a time; outcomes come in the order of the names.

    After ^C no further one is begun. What runs has GRACE_SECONDS to end, or until another ^C; then
    it is left to a thread that ends with the process.

    Args:
        on_outcome: is called in the caller's thread with each outcome, as soon as it is there.
        on_interrupt: is called before what runs is waited for.

    Raises:
        KeyboardInterrupt: after the last outcome that came.
    """
    if len(names) == 1:
        only = _attempt(names[0], act)  # in this thread, where ^C ends it at once
        on_outcome(only)
        return (only,)
    waiting = deque(names)
    outcomes: queue.SimpleQueue[Outcome[Result]] = queue.SimpleQueue()
    came: dict[str, Outcome[Result]] = {}

    def take(timeout: float | None = None) -> None:
        outcome = outcomes.get(timeout=timeout)
        came[outcome.name] = outcome
        on_outcome(outcome)

    try:
        _start_workers(waiting, lambda name: outcomes.put(_attempt(name, act)))
        while len(came) < len(names):
            take()
    except KeyboardInterrupt:
        begun = len(names) - _take_all(waiting)
        on_interrupt()
        deadline = time.monotonic() + GRACE_SECONDS
        with contextlib.suppress(queue.Empty):
            while len(came) < begun:
                take(max(deadline - time.monotonic(), 0))
        raise
    return tuple(came[name] for name in names)


def _attempt(name: str, act: Callable[[str], Result]) -> Outcome[Result]:
    try:
        return Outcome(name, act(name), None)
    except (CspaceError, OSError) as error:
        return Outcome(name, None, expected(error))
    except Exception as error:  # noqa: BLE001  a bug in one must not hide what came of the others
        return Outcome(name, None, error)


def _start_workers(waiting: deque[str], act: Callable[[str], object]) -> None:
    def work() -> None:
        with contextlib.suppress(IndexError):
            while True:
                act(waiting.popleft())

    for _ in range(min(at_once(), len(waiting))):
        # A pool would be waited for at the end of the process.
        threading.Thread(target=work, daemon=True).start()


def _take_all(waiting: deque[str]) -> int:
    """Leave nothing to begin; return how many would have been."""
    taken = 0
    with contextlib.suppress(IndexError):
        while True:
            waiting.popleft()
            taken += 1
    return taken
