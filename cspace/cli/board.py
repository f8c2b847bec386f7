"""A board on a terminal: a row for each of several instances, drawn over and over, then gone."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import TYPE_CHECKING, Self

from cspace.cli.bar import render_bar
from cspace.cli.render import printable
from cspace.events import Event, State

if TYPE_CHECKING:
    from rich.table import Table

REDRAWS_EACH_SECOND = 5
# Lines of the terminal that are not rows: the sum, and the one that the cursor stands on.
MARGIN = 2
# Wide enough that columns do not move when a phase or a second more is shown.
PHASE_WIDTH, SECONDS_WIDTH = 10, 7


def can_draw() -> bool:
    """Tell whether a person looks on, at a terminal that can be drawn on."""
    return sys.stderr.isatty() and os.environ.get("TERM", "dumb") not in {"", "dumb", "unknown"}


@dataclass(frozen=True, slots=True)
class _Row:
    """Where one instance stands.

    Attributes:
        since: when that began, by the board's clock; None before anything did.
        style: rich's name for how it looks; NO_COLOR takes the colours away.
        until: when nothing more was to come.
    """

    phase: str = "waiting"
    detail: str = ""
    since: float | None = None
    style: str = "dim"
    until: float | None = None

    @property
    def at_work(self) -> bool:
        return self.since is not None and self.until is None


class Board:
    """The board of one batch; several threads may report to it."""

    def __init__(self, names: Sequence[str], clock: Callable[[], float] = time.monotonic) -> None:
        # A quarter of a second that only those pay who see the board.
        from rich.console import Console  # noqa: PLC0415
        from rich.live import Live  # noqa: PLC0415

        self._clock = clock
        self._began: dict[str, float] = {}
        self._rows = dict.fromkeys(names, _Row())
        self._console = Console(stderr=True, highlight=False, markup=False, emoji=False)
        self._live = Live(
            get_renderable=self._draw,
            console=self._console,
            refresh_per_second=REDRAWS_EACH_SECOND,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.stop()

    def take(self, event: Event) -> bool:
        """Show an event in the row of its subject; return False when it belongs above the rows."""
        row = self._rows.get(event.subject)
        if row is None or event.state is State.NOTICE:
            return False
        now = self._clock()
        match event.state:
            case State.STARTED:
                self._began.setdefault(event.subject, now)
                row = _Row(event.phase, printable(event.detail), now, "default")
            case State.OUTPUT:
                row = replace(row, detail=printable(event.detail))
            case State.ADVANCED:
                row = replace(row, detail=render_bar(event, printable(event.detail)))
        self._rows[event.subject] = row
        return True

    def end(self, name: str, *, failed: bool) -> None:
        """Say that nothing more comes of an instance."""
        began = self._began.get(name, self._clock())
        said, style = ("failed", "red") if failed else ("done", "green")
        self._rows[name] = _Row(said, "", began, style, self._clock())

    def write(self, text: str) -> None:
        """Print lines above the rows, where they stay."""
        self._console.print(text, soft_wrap=True)

    def _draw(self) -> Table:
        from rich.table import Table  # noqa: PLC0415  see above

        rows = list(self._rows.items())
        ended = sum(row.until is not None for _, row in rows)
        if len(rows) > self._console.height - MARGIN:
            rows = [(name, row) for name, row in rows if row.at_work]
        table = Table.grid(padding=(0, 2))
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True, min_width=PHASE_WIDTH)
        table.add_column(no_wrap=True, justify="right", min_width=SECONDS_WIDTH)
        table.add_column(no_wrap=True, overflow="ellipsis")
        for name, row in rows:
            table.add_row(name, row.phase, self._seconds(row), row.detail, style=row.style)
        table.add_row(f"{ended} of {len(self._rows)} done", style="dim")
        return table

    def _seconds(self, row: _Row) -> str:
        if row.since is None:
            return ""
        return f"{(row.until or self._clock()) - row.since:.1f} s"
