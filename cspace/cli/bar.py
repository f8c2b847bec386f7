"""A progress bar: one line on a terminal that is drawn over and over, and then is gone."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TextIO

from cspace.events import Event

# What is done within a second needs no bar.
PATIENCE_SECONDS = 1.0
REDRAW_SECONDS = 0.1
CELLS = 24


class Bar:
    """The bar of one process; the caller sees to it that one thread at a time is in here."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since: float | None = None
        self._drawn_at = 0.0
        self._width = 0

    def advance(self, event: Event, stream: TextIO, text: str) -> None:
        """Draw how far something is, where a person looks on and has waited.

        Args:
            text: what is being done; printable.
        """
        if not stream.isatty():
            return
        now = self._clock()
        if self._since is None:
            self._since = now
        if now - self._since < PATIENCE_SECONDS or now - self._drawn_at < REDRAW_SECONDS:
            return
        self._drawn_at = now
        # A terminal that does not know its width says 0.
        room = (os.get_terminal_size(stream.fileno()).columns or 80) - 1
        line = render_bar(event, text)[:room]
        stream.write("\r" + line.ljust(min(self._width, room)))
        stream.flush()
        self._width = len(line)

    def erase(self, stream: TextIO) -> None:
        """Take the bar away, since something else is printed; a later event may draw it again."""
        if self._width:
            stream.write("\r" + " " * self._width + "\r")
            stream.flush()
            self._width = 0

    def finish(self, stream: TextIO) -> None:
        """Take the bar away for good: what is done next has a second of its own."""
        self.erase(stream)
        self._since = None


def render_bar(event: Event, text: str) -> str:
    """Write how far something is: with a bar where the whole is known, else in bytes."""
    if not event.total:
        return f"{text} {event.done / 2**20:.1f} MiB"
    part = min(event.done / event.total, 1.0)
    filled = int(part * CELLS)
    return f"{text} [{'#' * filled}{'.' * (CELLS - filled)}] {part:4.0%}"
