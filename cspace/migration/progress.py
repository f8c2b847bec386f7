"""Says how many bytes of a source are done, often enough for a bar and not once a file."""

from __future__ import annotations

from types import TracebackType

from cspace.events import Event, Report, State

STEP_BYTES = 1024 * 1024


class Progress:
    """The progress of one pass over a source, in bytes."""

    def __init__(self, subject: str, phase: str, report: Report, total: int | None = None) -> None:
        self._subject, self._phase, self._report, self._total = subject, phase, report, total
        self._done = self._said = 0

    def __enter__(self) -> Progress:
        self._say(State.ADVANCED)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._say(State.FAILED if kind else State.DONE)

    def advance(self, size: int) -> None:
        """Count bytes as done."""
        self._done += size
        if self._done - self._said >= STEP_BYTES:
            self._said = self._done
            self._say(State.ADVANCED)

    def _say(self, state: State) -> None:
        self._report(Event(self._subject, self._phase, state, done=self._done, total=self._total))
